package mcpgw

import "context"

// tasksOf returns the turns behind the tasks that this caller may know.
func (x *exchange) tasksOf([]string) map[string]string { return nil }

func (x *exchange) taskNotification(context.Context, string, []byte) []byte { return nil }

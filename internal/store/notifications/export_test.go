package notifications

// Looks are the queries of every second, with the index that each reads.
var Looks = map[string]string{listWaiting: "approvals_open", listEnded: "notifications_open", listToRemind: "notifications_remind"}

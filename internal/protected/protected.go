// Package protected is the client side of OAuth in front of MCP servers.
package protected

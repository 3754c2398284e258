package oauth

import (
	"net/http"

	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// address is where a request comes from, for counting.
func address(r *http.Request) string { return auth.Network(httpd.ClientIP(r)) }

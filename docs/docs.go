// Package docs is the manual: Markdown that people read in the repository and that
// every server shows at /help. README.md is its table of contents; a page that it
// does not list does not exist for readers. codes.go says of every error code why
// it comes and what to do, and reference/errors.md is made of that. Pictures stay
// in the repository: they weigh more than all words together.
package docs

import "embed"

// Files are the pages, in folders by what they are for.
//
//go:embed README.md architecture.md start how-to reference explanation adr
var Files embed.FS

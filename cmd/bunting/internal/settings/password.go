package settings

import (
	"regexp"
	"strings"
)

// passwordParameter is a password among the parameters of an address, or of a
// connection in PostgreSQL's other form ("host=db password=secret").
var passwordParameter = regexp.MustCompile(`(?i)(password=)('(?:[^'\\]|\\.)*'|[^&\s]*)`)

// WithoutPassword is a setting as it may be shown: an address without the password
// in it.
func WithoutPassword(text string) string {
	text = passwordParameter.ReplaceAllString(text, "$1***")
	scheme, rest, ok := strings.Cut(text, "://")
	index := strings.LastIndexByte(rest, '@')
	if !ok || index < 0 {
		return text
	}
	user, _, has := strings.Cut(rest[:index], ":")
	if !has {
		return text
	}
	return scheme + "://" + user + ":***" + rest[index:]
}

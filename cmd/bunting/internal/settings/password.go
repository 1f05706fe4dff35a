package settings

import (
	"regexp"
	"strings"
)

// passwordParameter matches a password in the parameters of a URL, or in a PostgreSQL connection
// string ("host=db password=secret").
var passwordParameter = regexp.MustCompile(`(?i)(password=)('(?:[^'\\]|\\.)*'|[^&\s]*)`)

// WithoutPassword returns a setting that is safe to print: passwords in a URL are replaced.
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

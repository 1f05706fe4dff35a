package convert

import (
	"regexp"
	"sync"
)

// lazy returns a function that compiles an expression when it is first called: only one command
// converts flags, and it uses the expressions of one system.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

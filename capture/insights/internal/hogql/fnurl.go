package hogql

import "strings"

// urlFunctions are the functions for URLs (§2.9.8). They accept any string.
var urlFunctions = []function{
	{name: "domain", args: "s", result: constantType(TextType), one: mapText(func(u string) string {
		_, host, _ := urlParts(u)
		return host
	})},
	{name: "domainWithoutWWW", args: "s", result: constantType(TextType), one: mapText(func(u string) string {
		_, host, _ := urlParts(u)
		return strings.TrimPrefix(host, "www.")
	})},
	{name: "path", args: "s", result: constantType(TextType), one: mapText(func(u string) string {
		_, _, rest := urlParts(u)
		if !strings.HasPrefix(rest, "/") {
			return ""
		}
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			rest = rest[:i]
		}
		return rest
	})},
	{name: "protocol", args: "s", result: constantType(TextType), one: mapText(func(u string) string {
		scheme, _, _ := urlParts(u)
		return scheme
	})},
	{name: "cutQueryString", args: "s", result: constantType(TextType), one: mapText(func(u string) string {
		start, end := queryOf(u)
		if start == len(u) {
			return u
		}
		return u[:start] + u[end:]
	})},
	{name: "extractURLParameter", args: "ss", result: constantType(TextType), two: func(_ *site, u, name Value) Value {
		start, end := queryOf(u.s)
		if start == len(u.s) {
			return TextOf("")
		}
		for part := range strings.SplitSeq(u.s[start+1:end], "&") {
			if key, value, ok := strings.Cut(part, "="); ok && key == name.s {
				return TextOf(value)
			}
		}
		return TextOf("")
	}},
}

// urlParts returns the scheme, the host without user and port, and the rest of a URL. If
// there is no scheme, the host must contain a dot.
//
// It does not use net/url, because the functions must also return a result for strings that
// are not valid URLs. An IPv6 address in brackets includes the brackets.
func urlParts(u string) (scheme, host, rest string) {
	scheme, rest, found := strings.Cut(u, "://")
	if !found || strings.ContainsAny(scheme, "/?#@") {
		scheme = ""
		rest = u
		found = strings.HasPrefix(u, "//")
		rest = strings.TrimPrefix(rest, "//")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, rest = rest[:end], rest[end:]
	host = host[strings.LastIndexByte(host, '@')+1:]
	if !strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host, ":")
	} else if i := strings.IndexByte(host, ']'); i >= 0 {
		host = host[:i+1]
	}
	if strings.ContainsAny(host, " \t\n\\") || !found && !strings.Contains(host, ".") {
		if !found { // a path, or not a URL
			return scheme, "", u
		}
		return scheme, "", rest
	}
	return scheme, host, rest
}

// queryOf returns the offsets of the ? of a URL and of the end of its query. Both are the
// length of the URL if there is no query.
func queryOf(u string) (start, end int) {
	end = strings.IndexByte(u, '#')
	if end < 0 {
		end = len(u)
	}
	start = strings.IndexByte(u[:end], '?')
	if start < 0 {
		return len(u), len(u)
	}
	return start, end
}

package capture

import (
	"crypto/sha512"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Bounds of what is derived from an exception. What is over them is left out.
const (
	// maxDerived is how many values a derived property has, maxDerivedBytes how long
	// they are together.
	maxDerived      = 1000
	maxDerivedBytes = 64 << 10
	// maxFrames is how many frames of all stacks are looked at.
	maxFrames = 5000
	// maxFingerprint is how long a client's fingerprint may be, in characters, before
	// its hash takes its place.
	maxFingerprint = 64
	// maxColumn is the last column of a script that people have written: in longer
	// lines names mean nothing.
	maxColumn = 300
)

const (
	exceptionList        = "$exception_list"
	exceptionFingerprint = "$exception_fingerprint"
)

// derivedValues are the properties of an exception that come from its list, for rules
// and queries (spec/clients.md §17). A client's own of these names are replaced.
type derivedValues struct {
	types, values, sources, functions distinctStrings
	handled                           bool
	frames                            int
	members                           []Member // used again for each frame
}

// distinctStrings is a list of texts, each once, in the order of their first appearance.
type distinctStrings struct {
	list  []string
	seen  map[string]bool
	bytes int
}

func (d *distinctStrings) add(s string) {
	if d.seen[s] || len(d.list) >= maxDerived || d.bytes+len(s) > maxDerivedBytes {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[s] = true
	d.list, d.bytes = append(d.list, s), d.bytes+len(s)
}

// appendJSON appends the list as JSON.
func (d *distinctStrings) appendJSON(b []byte) []byte {
	b = append(b, '[')
	for i, s := range d.list {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendQuoted(b, s)
	}
	return append(b, ']')
}

// derivedNames are the properties that come from the list.
var derivedNames = [...]string{"$exception_types", "$exception_values", "$exception_sources", "$exception_functions", "$exception_handled"}

// exception derives the properties of an exception. A list that cannot be read
// gives none, and a warning; without a list nothing is touched.
func (p *preparer) exception(e *Event, out *Batch) {
	if fingerprint, ok := text(p.props.getByName(exceptionFingerprint)); ok && isLonger(fingerprint, maxFingerprint) {
		sum := sha512.Sum512([]byte(fingerprint))
		p.props.setByName(exceptionFingerprint, `"`+hex.EncodeToString(sum[:])+`"`)
	}
	list := p.props.getByName(exceptionList)
	if isAbsent(list) {
		return
	}
	var d derivedValues
	if !isList(list) || !d.read(list) {
		for _, name := range derivedNames {
			p.props.removeByName(name)
		}
		p.addWarning(e, warnExceptionList, out)
		return
	}
	handled := "false"
	if d.handled {
		handled = "true"
	}
	for i, l := range []*distinctStrings{&d.types, &d.values, &d.sources, &d.functions} {
		p.props.setByName(derivedNames[i], string(l.appendJSON(nil)))
	}
	p.props.setByName(derivedNames[len(derivedNames)-1], handled)
}

// read takes the list of exceptions. It reports whether every one has a type.
func (d *derivedValues) read(list string) (ok bool) {
	ok, first := true, true
	eachElement(list, func(value string) {
		members := appendMembers(nil, value)
		name, isText := text(valueOf(members, "type"))
		if ok = ok && isText; !ok {
			return
		}
		d.types.add(name)
		d.values.add(asText(valueOf(members, "value")))
		if first {
			d.handled = memberOf(valueOf(members, "mechanism"), "handled") == "true"
			first = false
		}
		d.addTrace(valueOf(members, "stacktrace"))
	})
	return ok
}

// addTrace takes the frames of a stack that are of the application itself.
func (d *derivedValues) addTrace(trace string) {
	resolved := memberOf(trace, "type") == `"resolved"`
	eachElement(memberOf(trace, "frames"), func(value string) {
		if d.frames++; d.frames > maxFrames {
			return
		}
		d.members = appendMembers(d.members[:0], value)
		f := readFrame(d.members)
		if f.notInApp {
			return
		}
		source, function, inApp := f.filename, f.function, true
		if resolved {
			source, function = f.source, f.resolvedName
		} else if rule := platforms[f.platform]; rule != nil {
			source, function, inApp = rule(&f)
		} else if function == "" {
			function = f.resolvedName
		}
		if !inApp {
			return
		}
		if source != "" {
			d.sources.add(source)
		}
		if function != "" {
			d.functions.add(function)
		}
	})
}

// frame is a frame of a stack; empty texts are for absent ones.
type frame struct {
	platform, filename, absPath, function, module string
	source, resolvedName                          string
	column                                        string // a JSON number
	notInApp                                      bool   // in_app is false; absent is true
}

func readFrame(members []Member) frame {
	str := func(key string) string {
		s, _ := text(valueOf(members, key))
		return s
	}
	return frame{
		platform: str("platform"), filename: str("filename"), absPath: str("abs_path"), function: str("function"), module: str("module"),
		source: str("source"), resolvedName: str("resolved_name"),
		column: valueOf(members, "colno"), notInApp: valueOf(members, "in_app") == "false",
	}
}

// platforms are the rules of the languages whose frames tell more than in_app:
// where a frame is from, its function, and whether it is the application's own
// (spec/clients.md §17). The others keep filename and function.
var platforms = map[string]func(f *frame) (source, function string, own bool){
	"python":          pythonFrame,
	"node:javascript": nodeFrame,
	"web:javascript":  webFrame,
}

// pythonPackages finds the folders of installed packages and of Python itself.
var pythonPackages = regexp.MustCompile(`(?:^|/)(?:site-packages|dist-packages|lib/python[0-9]+\.[0-9]+)/`)

func pythonFrame(f *frame) (source, function string, inApp bool) {
	path := f.absPath
	if path == "" {
		path = f.filename
		if root, _, _ := strings.Cut(f.module, "."); pythonModules[root] {
			return f.filename, f.function, false
		}
	}
	return f.filename, f.function, !pythonPackages.MatchString(strings.ReplaceAll(path, `\`, "/"))
}

func nodeFrame(f *frame) (source, function string, inApp bool) {
	return f.filename, f.function, !strings.Contains(f.filename, "node_modules") && !strings.HasPrefix(f.filename, "node:")
}

func webFrame(f *frame) (source, function string, inApp bool) {
	if source, function = webPath(f.filename), f.function; isMinified(f.column) {
		function = ""
	}
	return source, function, source != "<anonymous>"
}

// isMinified reports whether a column is behind maxColumn.
func isMinified(column string) bool {
	n, ok := parseOffset(column)
	return ok && n > maxColumn
}

// lineEnd is a place behind the name of a script.
var lineEnd = regexp.MustCompile(`(?::[0-9]+){1,2}$`)

// webPath is the path of an absolute http(s) URL, without line and column; another
// name stays as it is.
func webPath(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) {
		return name
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[end:]
	} else {
		rest = ""
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	if rest = lineEnd.ReplaceAllString(rest, ""); rest == "" {
		return "/"
	}
	return rest
}

// memberOf is the JSON text of a member of an object, empty for none.
func memberOf(object, key string) string { return valueOf(appendMembers(nil, object), key) }

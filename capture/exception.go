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

// derived are the properties of an exception that come from its list, for rules
// and queries (spec/clients.md §17). A client's own of these names are replaced.
type derived struct {
	types, values, sources, functions distinct
	handled                           bool
	frames                            int
	members                           []Member // used again for each frame
}

// distinct is a list of texts, each once, in the order of their first appearance.
type distinct struct {
	list  []string
	seen  map[string]bool
	bytes int
}

func (d *distinct) add(s string) {
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
func (d *distinct) appendJSON(b []byte) []byte {
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
	if given, ok := text(p.props.named(exceptionFingerprint)); ok && longer(given, maxFingerprint) {
		sum := sha512.Sum512([]byte(given))
		p.props.name(exceptionFingerprint, `"`+hex.EncodeToString(sum[:])+`"`)
	}
	list := p.props.named(exceptionList)
	if absent(list) {
		return
	}
	var d derived
	if !isList(list) || !d.read(list) {
		for _, name := range derivedNames {
			p.props.forget(name)
		}
		p.warnOf(e, warnExceptionList, out)
		return
	}
	handled := "false"
	if d.handled {
		handled = "true"
	}
	for i, l := range []*distinct{&d.types, &d.values, &d.sources, &d.functions} {
		p.props.name(derivedNames[i], string(l.appendJSON(nil)))
	}
	p.props.name(derivedNames[len(derivedNames)-1], handled)
}

// read takes the list of exceptions. It reports whether every one has a type.
func (d *derived) read(list string) (ok bool) {
	ok, first := true, true
	eachElement(list, func(value string) {
		members := appendMembers(nil, value)
		name, is := text(valueOf(members, "type"))
		if ok = ok && is; !ok {
			return
		}
		d.types.add(name)
		d.values.add(asText(valueOf(members, "value")))
		if first {
			d.handled = memberOf(valueOf(members, "mechanism"), "handled") == "true"
			first = false
		}
		d.trace(valueOf(members, "stacktrace"))
	})
	return ok
}

// trace takes the frames of a stack that are of the application itself.
func (d *derived) trace(trace string) {
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
		source, function, own := f.filename, f.function, true
		if resolved {
			source, function = f.source, f.resolvedName
		} else if rule := platforms[f.platform]; rule != nil {
			source, function, own = rule(&f)
		} else if function == "" {
			function = f.resolvedName
		}
		if !own {
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
	named := func(key string) string {
		s, _ := text(valueOf(members, key))
		return s
	}
	return frame{
		platform: named("platform"), filename: named("filename"), absPath: named("abs_path"), function: named("function"), module: named("module"),
		source: named("source"), resolvedName: named("resolved_name"),
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

func pythonFrame(f *frame) (source, function string, own bool) {
	path := f.absPath
	if path == "" {
		path = f.filename
		if root, _, _ := strings.Cut(f.module, "."); pythonModules[root] {
			return f.filename, f.function, false
		}
	}
	return f.filename, f.function, !pythonPackages.MatchString(strings.ReplaceAll(path, `\`, "/"))
}

func nodeFrame(f *frame) (source, function string, own bool) {
	return f.filename, f.function, !strings.Contains(f.filename, "node_modules") && !strings.HasPrefix(f.filename, "node:")
}

func webFrame(f *frame) (source, function string, own bool) {
	if source, function = webPath(f.filename), f.function; minified(f.column) {
		function = ""
	}
	return source, function, source != "<anonymous>"
}

// minified reports whether a column is behind maxColumn.
func minified(column string) bool {
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

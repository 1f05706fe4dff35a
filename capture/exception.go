package capture

import (
	"crypto/sha512"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// These bounds limit the properties that are derived from an exception. Values beyond them
// are ignored.
const (
	// maxDerived is the greatest number of values of a derived property, and maxDerivedBytes
	// their greatest total length.
	maxDerived      = 1000
	maxDerivedBytes = 64 << 10
	// maxFrames is the number of stack frames of an event that are read.
	maxFrames = 5000
	// maxFingerprint is the greatest length of a client's fingerprint, in characters. A
	// longer one is replaced by its hash.
	maxFingerprint = 64
	// maxColumn is the last column that code written by people reaches. A frame with a
	// greater column is in a minified script, where names have no meaning.
	maxColumn = 300
)

const (
	exceptionList        = "$exception_list"
	exceptionFingerprint = "$exception_fingerprint"
)

// derivedValues are the properties of an exception that are derived from its list, for rules
// and queries (spec/clients.md §17). They replace properties of the same names that the
// client sent.
type derivedValues struct {
	types, values, sources, functions distinctStrings
	handled                           bool
	frames                            int
	members                           []Member // buffer that is reused for each frame
}

// distinctStrings is a list of distinct strings in the order of their first occurrence. The
// zero value is ready to use.
type distinctStrings struct {
	list  []string
	seen  map[string]bool
	bytes int
}

// add appends s unless it is in the list, or the list has reached its bounds.
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

// derivedNames are the names of the derived properties, in the order in which exception sets
// them.
var derivedNames = [...]string{"$exception_types", "$exception_values", "$exception_sources", "$exception_functions", "$exception_handled"}

// exception sets the derived properties of an exception. If the list is invalid, they are
// removed and a warning is added. Without a list the properties stay unchanged.
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

// read reads the list of exceptions. It reports whether every one has a type.
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

// addTrace adds the source and function of each frame of a stack that belongs to the
// application.
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

// frame is a frame of a stack. Absent members are empty.
type frame struct {
	platform, filename, absPath, function, module string
	source, resolvedName                          string
	column                                        string // JSON number
	notInApp                                      bool   // whether in_app is false; if absent, it counts as true
}

// readFrame returns the frame with the given members.
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

// platforms has the languages whose frames contain more information than in_app. Each
// function returns the source of a frame, its function, and whether it belongs to the
// application (spec/clients.md §17). Frames of other platforms use filename and function.
var platforms = map[string]func(f *frame) (source, function string, own bool){
	"python":          pythonFrame,
	"node:javascript": nodeFrame,
	"web:javascript":  webFrame,
}

// pythonPackages matches the directories of installed packages and of Python itself.
var pythonPackages = regexp.MustCompile(`(?:^|/)(?:site-packages|dist-packages|lib/python[0-9]+\.[0-9]+)/`)

// pythonFrame excludes frames in installed packages and in the standard library.
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

// nodeFrame excludes frames in node_modules and in Node.js itself.
func nodeFrame(f *frame) (source, function string, inApp bool) {
	return f.filename, f.function, !strings.Contains(f.filename, "node_modules") && !strings.HasPrefix(f.filename, "node:")
}

// webFrame shortens the URL to its path, and drops function names of minified scripts.
func webFrame(f *frame) (source, function string, inApp bool) {
	if source, function = webPath(f.filename), f.function; isMinified(f.column) {
		function = ""
	}
	return source, function, source != "<anonymous>"
}

// isMinified reports whether a column is greater than maxColumn.
func isMinified(column string) bool {
	n, ok := parseOffset(column)
	return ok && n > maxColumn
}

// lineEnd matches the line and column after the name of a script.
var lineEnd = regexp.MustCompile(`(?::[0-9]+){1,2}$`)

// webPath returns the path of an absolute http or https URL, without line and column. Other
// names are returned unchanged.
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

// memberOf returns the JSON text of a member of an object, or the empty string.
func memberOf(object, key string) string { return valueOf(appendMembers(nil, object), key) }

// pythonModules are the modules of Python's standard library, by the first component of their
// names. The list is sys.stdlib_module_names of Python 3.11, without names that begin with an
// underscore.
var pythonModules = nameSetOf(strings.Fields(pythonModuleNames)...)

const pythonModuleNames = "" +
	`abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb ` +
	`chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses ` +
	`dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch ` +
	`fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp ` +
	`importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder ` +
	`msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools ` +
	`pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re ` +
	`readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver ` +
	`spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny ` +
	`tarfile telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle ` +
	`turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp ` +
	`zipfile zipimport zlib zoneinfo `

package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/bunting-flags/bunting"

// room is a row of the import table: what a package may import besides the
// standard library, and what of that it may not.
type room struct {
	ours   []string
	others []string
	pure   bool // no I/O: none of the packages of impure
}

var (
	core = append([]string{"flags", "capture"}, ofManagement...)
	// ofManagement are the desk, its rooms, and what opens them together.
	ofManagement = []string{"management", "management/errortracking", "management/batchexports", "management/dashboards", "management/featureflags", "management/organizations", "management/rooms"}
	impure       = []string{"net", "os", "database", "log", "syscall", "embed", "plugin"}
	// leaf is the text of the wire and of stores: any room may import it.
	leaf = "flags/wire"
	// harmless are packages below impure ones that do no I/O.
	harmless = []string{"net/netip", "net/url", "net/mail"}
)

// table says who may import whom. Arrows point down only; no adapter imports
// another.
var table = map[string]room{
	"flags":                           {pure: true, ours: []string{"flags/internal/rustregexp", "flags/internal/dates", "flags/internal/semver", "flags/internal/tape"}, others: []string{"github.com/spaolacci/murmur3", "github.com/hashicorp/golang-lru/v2"}},
	"flags/internal/rustregexp":       {pure: true, others: []string{"github.com/dlclark/regexp2/v2"}},
	"flags/flagsdiff":                 {pure: true, ours: []string{"flags"}},
	"flags/flagstest":                 {pure: true, ours: []string{"flags"}},
	"flags/flagshttp":                 {ours: []string{"flags"}},
	"flags/internal/dates":            {pure: true},
	"flags/internal/semver":           {pure: true},
	"flags/internal/tape":             {pure: true},
	leaf:                              {pure: true},
	"geoip":                           {others: []string{"github.com/oschwald/geoip2-golang/v2", "github.com/hashicorp/golang-lru/v2"}},
	"capture":                         {pure: true, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"capture/experiments":             {pure: true, others: []string{"gonum.org/v1/gonum"}},
	"capture/insights":                {pure: true, ours: []string{"capture", "capture/experiments", "flags", "capture/insights/internal/hogql"}},
	"capture/insights/internal/hogql": {pure: true},
	"capture/queries":                 {pure: true, ours: []string{"capture", "capture/insights", "flags"}},
	"management":                      {pure: true, ours: []string{"flags"}},
	"management/errortracking":        {pure: true, ours: []string{"management", "flags"}},
	"management/batchexports":         {pure: true, ours: []string{"management", "flags"}},
	"management/dashboards":           {pure: true, ours: []string{"management", "flags"}, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"management/featureflags":         {pure: true, ours: []string{"management", "flags", "capture/experiments"}},
	"management/organizations":        {pure: true, ours: []string{"management", "flags"}},
	"management/rooms":                {pure: true, ours: ofManagement},
	// for the tests of the rooms
	"management/internal/memstore":     {pure: true, ours: append([]string{"flags"}, ofManagement...)},
	"management/internal/ruletest":     {pure: true, ours: []string{"management", "management/rooms"}},
	"adapters/httpapi/internal/charts": {pure: true},
	"adapters/httpapi": {ours: append([]string{"geoip", "capture/experiments", "capture/insights", "capture/queries", "adapters/httpapi/internal/charts"}, core...), others: []string{
		"github.com/go-chi/chi/v5", "github.com/hashicorp/golang-lru/v2", "golang.org/x/time", "github.com/andybalholm/brotli", "github.com/klauspost/compress",
		"github.com/swaggest/jsonschema-go", "github.com/spaolacci/murmur3",
	}},
	"adapters/sqlstore": {ours: append([]string{"capture/insights", "capture/queries", "adapters/remote/lastgood"}, core...), others: []string{
		"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/pressly/goose/v3", "github.com/gofrs/flock",
		"github.com/hashicorp/golang-lru/v2", "github.com/spaolacci/murmur3",
	}},
	"adapters/internal/natsstream": {ours: []string{"capture"}, others: []string{"github.com/nats-io/nats.go", "github.com/klauspost/compress", "github.com/spaolacci/murmur3"}},
	"adapters/remote/lastgood":     {}, // below its neighbours: the server and its remote clients keep copies alike, and commands replace files
	"adapters/internal/keptsource": {ours: []string{"flags", "adapters/remote/lastgood"}},
	"adapters/console":             {},
	"adapters/convert":             {ours: []string{"flags"}, others: []string{"go.yaml.in/yaml/v3"}},
	"adapters/internal/shadow":     {},
	"adapters/flaglint":            {ours: []string{"flags"}, others: []string{"golang.org/x/tools"}},
	"cmd/flaglint":                 {ours: []string{"adapters/flaglint"}, others: []string{"golang.org/x/tools"}},
	"adapters/filesource":          {ours: []string{"flags"}, others: []string{"github.com/fsnotify/fsnotify"}},
	"adapters/remote":              {ours: []string{"flags", "adapters/remote/lastgood"}, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"adapters/internal/smtpmail":   {ours: []string{"management/organizations"}, others: []string{"github.com/wneessen/go-mail"}},
	"adapters/passkeys":            {ours: []string{"management/organizations"}, others: []string{"github.com/go-webauthn/webauthn"}},
	"adapters/oidc":                {ours: []string{"management/organizations"}, others: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"}},
	"adapters/oidctest":            {others: []string{"github.com/go-jose/go-jose/v4"}},
	"adapters/smtptest":            {ours: []string{"management/organizations", "adapters/internal/smtpmail"}, others: []string{"github.com/emersion/go-smtp", "github.com/emersion/go-sasl"}},
	"adapters/internal/dnstxt":     {ours: []string{"management/organizations"}, others: []string{"github.com/miekg/dns"}},
	"adapters/internal/exports": {ours: []string{"management", "management/batchexports"}, others: []string{
		"github.com/minio/minio-go/v7", "github.com/jackc/pgx/v5", "github.com/parquet-go/parquet-go",
		"github.com/klauspost/compress", "github.com/andybalholm/brotli",
	}},
	"adapters/ofprovider": {ours: []string{"flags"}, others: []string{"github.com/open-feature/go-sdk"}},
	"adapters/otelhook":   {ours: []string{"flags"}, others: []string{"go.opentelemetry.io/otel"}},
	"adapters/promhook":   {ours: []string{"flags"}, others: []string{"github.com/prometheus/client_golang"}},
	"adapters/metrics":    {ours: []string{"flags", "capture", "capture/queries"}, others: []string{"github.com/prometheus/client_golang"}},
	"adapters/storetest":  {ours: append([]string{"capture/insights", "capture/queries"}, core...), others: []string{"github.com/google/go-cmp", "github.com/jackc/pgx/v5"}},
	"adapters/server": {ours: append([]string{ // the roof
		"geoip", "adapters/httpapi", "adapters/sqlstore", "adapters/internal/natsstream", "adapters/filesource", "adapters/internal/smtpmail", "adapters/internal/dnstxt",
		"adapters/internal/exports", "adapters/metrics", "adapters/passkeys", "adapters/oidc", "adapters/internal/keptsource", "adapters/internal/shadow", "adapters/remote/lastgood", "capture/insights", "capture/queries",
	}, core...)},
	"cmd/bunting": {ours: []string{
		"flags", "adapters/server", "adapters/console", "adapters/remote/lastgood",
		"cmd/bunting/internal/cli", "cmd/bunting/internal/settings", "cmd/bunting/internal/client", "cmd/bunting/internal/local",
	}},
	"cmd/examples": {
		ours:   []string{"flags", "flags/flagshttp", "geoip", "capture", "management", "adapters/httpapi", "adapters/filesource", "adapters/remote", "adapters/ofprovider", "adapters/server"},
		others: []string{"github.com/go-chi/chi/v5", "github.com/open-feature/go-sdk"},
	},
	"cmd/bunting/internal/cli":     {ours: []string{"flags"}, others: []string{"golang.org/x/term"}},
	"cmd/bunting/internal/clitest": {ours: []string{"cmd/bunting/internal/cli"}},
	"cmd/bunting/internal/settings": {ours: append([]string{
		"cmd/bunting/internal/cli", "adapters/server", "adapters/httpapi", "geoip",
	}, ofManagement...)},
	"cmd/bunting/internal/client":  {ours: []string{"cmd/bunting/internal/cli", "cmd/bunting/internal/codegen", "adapters/convert", "adapters/remote/lastgood", "capture", "flags"}},
	"cmd/bunting/internal/codegen": {ours: []string{"flags", "adapters/flaglint"}},
	"cmd/bunting/internal/local": {ours: append([]string{
		"cmd/bunting/internal/cli", "cmd/bunting/internal/settings", "adapters/server", "adapters/filesource", "adapters/sqlstore", "flags", "flags/flagsdiff", "geoip",
	}, ofManagement...)},
}

// contextFiles are the files of flags above its inner line: below it everything
// is a function of its arguments.
var contextFiles = []string{"flags/ports.go", "flags/quota.go", "flags/registry.go", "flags/memberregistry.go", "flags/decider.go", "flags/reader.go", "flags/readset.go", "flags/readdecider.go", "flags/snapshot.go", "flags/hook.go", "flags/openreads.go", "flags/openwatch.go", "flags/flagstest/flagstest.go"}

// openFile alone of flags reads files: a definitions file, for flags.Open.
const openFile = "flags/open.go"

func TestHouse_ImportTable(t *testing.T) {
	problems, rooms := house(t, os.DirFS("../.."))
	for _, p := range problems {
		t.Error(p)
	}
	for name := range table {
		if !slices.Contains(rooms, name) {
			t.Errorf("there is no room %s", name)
		}
	}
}

// house holds the code of the workspace's modules against the table.
func house(t *testing.T, root fs.FS) (problems, rooms []string) {
	t.Helper()
	modules := workspace(t, root)
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			_, nested := fs.Stat(root, path.Join(file, "go.mod"))
			if file != "." && (nested == nil && !slices.Contains(modules, file) || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		if dir := path.Dir(file); !slices.Contains(rooms, dir) {
			rooms = append(rooms, dir)
		}
		problems = append(problems, houseFile(t, file, source)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems, rooms
}

func houseFile(t *testing.T, file string, source []byte) (problems []string) {
	t.Helper()
	name := roomOf(path.Dir(file))
	if name == "" {
		return []string{file + ": the table names no such room"}
	}
	row := table[name]
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if problem := row.judge(name, imported); problem != "" && (file != openFile || imported != "os") {
			problems = append(problems, fmt.Sprintf("%s imports %q: %s", file, imported, problem))
		}
		if imported == "context" && under(file, []string{"flags"}) && !slices.Contains(contextFiles, file) {
			problems = append(problems, file+` imports "context": only `+strings.Join(contextFiles, ", ")+" may")
		}
	}
	return problems
}

// roomOf names the room of a folder: its own, or that of which it is a part;
// empty when there is none.
func roomOf(dir string) string {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, ok := table[dir]; ok {
			return dir
		}
	}
	return ""
}

// judge says what is wrong with an import of the named room; empty: nothing.
func (r room) judge(name, imported string) string {
	if ours, is := strings.CutPrefix(imported, module); is && (ours == "" || ours[0] == '/') {
		if to := roomOf(strings.TrimPrefix(ours, "/")); to != "" && (to == name || to == leaf || slices.Contains(r.ours, to)) {
			return ""
		}
		return "the table does not name this arrow"
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		if under(imported, r.others) {
			return ""
		}
		return "the table does not name this module"
	}
	if imported == "C" {
		return "not here"
	}
	if r.pure && under(imported, impure) && !slices.Contains(harmless, imported) {
		return "this room does no I/O"
	}
	return ""
}

// under reports whether a path is one of the roots or below one.
func under(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return p == root || strings.HasPrefix(p, root+"/") })
}

// The test above must be able to fail: each rule of it, shown on a small house.
func TestHouse_RulesBite(t *testing.T) {
	file := func(imports ...string) *fstest.MapFile {
		var b strings.Builder
		b.WriteString("package x\n\n")
		for _, i := range imports {
			fmt.Fprintf(&b, "import _ %q\n", i)
		}
		return &fstest.MapFile{Data: []byte(b.String())}
	}
	tests := map[string]struct {
		file *fstest.MapFile
		path string
		want []string
	}{
		"allowed":            {file("fmt", "net/netip", "github.com/spaolacci/murmur3"), "flags/a.go", nil},
		"flags and net":      {file("net"), "flags/a.go", []string{`flags/a.go imports "net": this room does no I/O`}},
		"flags and net/http": {file("net/http"), "flags/a.go", []string{`flags/a.go imports "net/http": this room does no I/O`}},
		"flags and os":       {file("os"), "flags/a.go", []string{`flags/a.go imports "os": this room does no I/O`}},
		"flags and a file":   {file("os"), "flags/open.go", nil},
		"the file and net":   {file("net"), "flags/open.go", []string{`flags/open.go imports "net": this room does no I/O`}},
		"flags and sql":      {file("database/sql"), "flags/a.go", []string{`flags/a.go imports "database/sql": this room does no I/O`}},
		"flags and slog":     {file("log/slog"), "flags/a.go", []string{`flags/a.go imports "log/slog": this room does no I/O`}},
		"flags and geoip":    {file(module + "/geoip"), "flags/a.go", []string{`flags/a.go imports "` + module + `/geoip": the table does not name this arrow`}},
		"an arrow upwards":   {file(module + "/adapters/httpapi"), "geoip/a.go", []string{`geoip/a.go imports "` + module + `/adapters/httpapi": the table does not name this arrow`}},
		"adapter to adapter": {file(module + "/adapters/metrics"), "adapters/httpapi/a.go", []string{`adapters/httpapi/a.go imports "` + module + `/adapters/metrics": the table does not name this arrow`}},
		"a new module":       {file("example.org/leftpad"), "geoip/a.go", []string{`geoip/a.go imports "example.org/leftpad": the table does not name this module`}},
		"a longer name":      {file("github.com/spaolacci/murmur32"), "flags/a.go", []string{`flags/a.go imports "github.com/spaolacci/murmur32": the table does not name this module`}},
		"the leaf":           {file(module + "/" + leaf), "geoip/a.go", nil},
		"above the leaf":     {file(module + "/flags"), leaf + "/a.go", []string{`flags/wire/a.go imports "` + module + `/flags": the table does not name this arrow`}},
		"cgo":                {file("C"), "geoip/a.go", []string{`geoip/a.go imports "C": not here`}},
		"a new room":         {file(), "utils/a.go", []string{"utils/a.go: the table names no such room"}},
		"a file at the root": {file(), "a.go", []string{"a.go: the table names no such room"}},
		"an inner room":      {file(module + "/flags/internal/rustregexp"), "adapters/httpapi/a.go", []string{`adapters/httpapi/a.go imports "` + module + `/flags/internal/rustregexp": the table does not name this arrow`}},
		"a part of a room":   {file(module + "/adapters/internal/exports"), "adapters/internal/exports/s3/b.go", nil},
		"a room in a room":   {file(module + "/management"), "adapters/internal/exports/s3/a.go", nil},
		"context below":      {file("context"), "flags/evaluate.go", []string{`flags/evaluate.go imports "context": only flags/ports.go, flags/quota.go, flags/registry.go, flags/memberregistry.go, flags/decider.go, flags/reader.go, flags/readset.go, flags/readdecider.go, flags/snapshot.go, flags/hook.go, flags/openreads.go, flags/openwatch.go, flags/flagstest/flagstest.go may`}},
		"context inside":     {file("context"), "flags/internal/rustregexp/a.go", []string{`flags/internal/rustregexp/a.go imports "context": only flags/ports.go, flags/quota.go, flags/registry.go, flags/memberregistry.go, flags/decider.go, flags/reader.go, flags/readset.go, flags/readdecider.go, flags/snapshot.go, flags/hook.go, flags/openreads.go, flags/openwatch.go, flags/flagstest/flagstest.go may`}},
		"context above":      {file("context"), "flags/ports.go", nil},
		"tests":              {file("os", "example.org/leftpad"), "flags/a_test.go", nil},
		"testdata":           {file("example.org/leftpad"), "testdata/gen/a.go", nil},
		"a nested module":    {file("example.org/leftpad"), "bench/a.go", nil},
		"of the workspace":   {file("example.org/leftpad"), "capture/a.go", []string{`capture/a.go imports "example.org/leftpad": the table does not name this module`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := house(t, fstest.MapFS{
				tt.path: tt.file, "go.mod": {}, "bench/go.mod": {}, "capture/go.mod": {}, "go.work": {Data: []byte("go 1.26.0\n\nuse (\n\t.\n\t./capture\n)\n")},
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

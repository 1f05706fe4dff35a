package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// A tier is a set of tests.
type tier string

const (
	quick tier = "quick" // while working: what changed
	full  tier = "full"  // before each merge: everything that protects main
	long  tier = "long"  // occasionally: full, with longer runs
)

// step is a row of the table.
type step struct {
	name  string
	about string
	tiers []tier   // nil means full and long
	needs []need   // resources that no other step may use concurrently
	after []string // steps that must have ended before, if they are selected
	do    func(*stepRun)
}

func (s step) isIn(t tier) bool {
	if s.tiers == nil {
		return t != quick
	}
	return slices.Contains(s.tiers, t)
}

var everyTier = []tier{quick, full, long}

// steps are all steps, in the order in which they begin if their needs are free. Two go commands
// that run at once compile what both need twice. So a step begins after the one that compiles most
// of what it needs: bunting with its dependencies and the standard library is in program, the
// analyzers are in exports, and the NATS server is in kill.
var steps = []step{
	{name: "format", about: "gofmt", tiers: everyTier, do: checkFormat},
	{name: "program", about: "builds bunting, which tests of later steps start", needs: []need{cpu}, do: func(r *stepRun) {
		r.removeOld()
		r.build("TEST_BINARY", ".", "./cmd/bunting")
	}},
	{name: "tests", about: "every package, but for what only the step race runs", needs: []need{cpu}, after: []string{"program"}, do: func(r *stepRun) {
		packages, err := testedPackages()
		if err != nil {
			r.fail("go list", err.Error(), "")
			return
		}
		r.goTestEnv("", fewCollections, packages...)
		r.goTestEnv("", fewCollections, append([]string{"-run=" + names(sequential)}, racing...)...)
	}},
	{name: "race", about: "tests in which goroutines meet, under the race detector", needs: []need{cpu}, do: runRace},
	{name: "lint", about: "vet, staticcheck, revive, unparam, errorlint and the house's own rules", needs: []need{cpu}, after: []string{"exports"}, do: func(r *stepRun) {
		r.run(in("", ".ci/lint/run"))
	}},
	{name: "kill", about: "the real program killed under load, with failing disks and databases", needs: []need{postgres}, after: []string{"program"}, do: func(r *stepRun) {
		r.build("TEST_NATS_SERVER", "adapters/internal/natsstream/natstest", "github.com/nats-io/nats-server/v2")
		r.goTest("", "./adapters/command/faulttest")
	}},
	{name: "browser", about: "the console in Chromium", needs: []need{chromium}, after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("adapters/console/browsertest", "./...")
	}},
	{name: "sdks", about: "official SDKs against the server: Go, Node, and JavaScript in a browser; DuckDB reads segments", needs: []need{chromium}, after: []string{"program"}, do: func(r *stepRun) {
		r.goTestEnv("adapters/httpapi/sdktest", fewCollections, "-tags=sdk", "./...")
		r.goTest("", "-tags=duckdb", "-run=DuckDB", "./adapters/internal/sqlstore/internal/segment")
	}},
	{name: "nats", about: "the stream in front of the database against real brokers: one, and three with one killed", needs: []need{broker}, after: []string{"program", "kill"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/natsstream/natstest", "./...")
	}},
	{name: "s3", about: "exports and backups against a real server of S3", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/exports/s3test", "./...")
	}},
	{name: "litestream", about: "replicas that Litestream makes beside the server have the same data, after stops, kills and pauses", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/backups/litestreamtest", "-run=^TestReplica_", "./...")
	}},
	{name: "acme", about: "certificates from a real server of ACME", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/certificates/pebbletest", "./...")
	}},
	{name: "console", about: "the console's bundle is what its sources make", tiers: everyTier, after: []string{"program"}, do: func(r *stepRun) {
		if r.isQuickWithout("adapters/console") {
			return
		}
		r.goTest("adapters/console/build", "./...")
	}},
	{name: "site", about: "the documentation has every page of the repository, and each link has a target", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/docs/build", "./...")
	}},
	{name: "metrics", about: "metrics, alert rules and the dashboard as Prometheus reads them", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("", "-tags=promtool", "-run=Ops", "./adapters/internal/metrics")
	}},
	{name: "geoip", about: "the GeoIP test databases are what their source makes", after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("testdata/geoip/generate", "./...")
	}},
	{name: "exports", about: "what the modules export since their last tags", after: []string{"program"}, do: func(r *stepRun) {
		r.run(in("", ".ci/api")) // before the tests: it builds apidiff, which they use
		r.goTestEnv(".ci/lint", []string{"GOWORK=off"}, "./...")
		r.goTestEnv(".ci/runtests", []string{"GOWORK=off"}, "./...")
	}},
	{name: "packages", about: "packages for Debian, rpm and Alpine: installed, started, upgraded, removed; the archive and the image: unpacked and started", after: []string{"program"}, do: func(r *stepRun) {
		r.goTestEnv(".ci/release", []string{"GOWORK=off"}, "./...")
	}},
	{name: "alone", about: "packages that must not need the server build without it", after: []string{"program"}, do: func(r *stepRun) {
		standalone := in("flags", "go build ./...")
		standalone.env = []string{"GOWORK=off"}
		r.run(in("", "go build ./geoip ./capture ./management"), standalone)
	}},
	{name: "noconsole", about: "the program without the console serves everything else", needs: []need{cpu}, do: func(r *stepRun) {
		r.goTest("", "-tags=no_console", "-run=NoConsole", "./adapters/command")
	}},
	{name: "noalloc", about: "benchmarks named NoAlloc do not allocate; other engines answer alike", needs: []need{cpu}, do: func(r *stepRun) {
		r.goTest("bench", "./...")
		r.run(in("bench", "go run ./report -bench NoAlloc -count 1 -benchtime 2000x"))
		r.checkNoAlloc("./geoip", "./capture", "./adapters/remote")
	}},

	{name: "types", about: "types of what changed since origin/main and of all that imports it, with tests", tiers: []tier{quick}, needs: []need{cpu}, do: func(r *stepRun) {
		c, err := r.changes()
		if err == nil && len(c.reached) > 0 {
			err = typeCheck(c.reached, c.all)
		}
		if err != nil {
			r.fail("types", err.Error(), "go vet ./...")
		}
	}},
	{name: "changed", about: "packages that changed since origin/main, analysed and tested, and the tests of those that import them, unless these are slow to build", tiers: []tier{quick}, needs: []need{cpu}, do: func(r *stepRun) {
		c, err := r.changes()
		if err != nil {
			r.fail("what has changed", err.Error(), "")
			return
		}
		if len(c.changed) > 0 {
			r.run(command{args: append([]string{".ci/lint/run"}, c.changed...)})
		}
		if len(c.packages) > 0 {
			r.goTest("", append([]string{"-short", "-skip=" + names(sequential, slow)}, c.packages...)...)
		}
	}},

	{name: "draws", about: "simulations, random questions and faults, five and ten times as many", tiers: []tier{long}, needs: []need{cpu}, do: func(r *stepRun) {
		r.goTest("", "-timeout=1h", "./flags", "./adapters/httpapi", "./capture/experiments", "./capture/guarded", "./capture/insights", "./adapters/internal/exports", "./adapters/remote", "-long=true")
	}},
	{name: "races", about: "tests with databases, under the race detector", tiers: []tier{long}, needs: []need{cpu}, do: runRaceWithDatabases},
	{name: "s3segments", about: "segments in a bucket of a real server of S3, which takes a minute to build", tiers: []tier{long}, needs: []need{postgres}, after: []string{"program", "kill"}, do: func(r *stepRun) {
		r.build("TEST_S3_SERVER", "adapters/internal/bucket/s3server", "github.com/bunting-flags/bunting/adapters/internal/bucket/s3server")
		r.goTestEnv("", fewCollections, "-tags=s3", "-run=^TestS3_", "./adapters/internal/sqlstore")
	}},
	{name: "kills", about: "the real program, and a program that seals events, killed a thousand times", tiers: []tier{long}, needs: []need{postgres}, after: []string{"program", "kill"}, do: func(r *stepRun) {
		r.goTest("", "-timeout=2h", "./adapters/command/faulttest", "-kills=1000", "-bodies=32")
		r.goTest("", "-timeout=1h", "-run=^TestSegments_(Kill|KilledAtEveryStep|Contract)$", "./adapters/internal/sqlstore", "-segment-kills=1000", "-long=true")
	}},
	{name: "replicas", about: "Litestream's own program, with the configuration on its page, beside the server under load", tiers: []tier{long}, needs: []need{cpu}, after: []string{"program", "litestream"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/backups/litestreamtest", "-timeout=1h", "-run=TestProgram", "./...", "-long=true")
	}},
	{name: "walks", about: "the console in Chromium: every page, every theme, and five thousand flags", tiers: []tier{long}, needs: []need{chromium}, after: []string{"program", "browser"}, do: func(r *stepRun) {
		r.goTest("adapters/console/browsertest", "-timeout=1h", "./...", "-long=true")
	}},
	{name: "docs", about: "the embedded documentation is what the pages of the repository make", tiers: []tier{long}, after: []string{"program", "site"}, do: func(r *stepRun) {
		r.goTest("adapters/internal/docs/build", "-run=TestArchive", "./...", "-long=true")
	}},
	{name: "modules", about: "programs with each module of a release, one that embeds the server, and go install", tiers: []tier{long}, needs: []need{cpu}, after: []string{"program"}, do: func(r *stepRun) {
		r.goTest("", "-run=^TestModules_(LibrariesAreLight|ServiceDecides)$", "./adapters/command", "-long=true")
	}},
	{name: "release", about: "two builds of a release are equal; its archive, packages, image and chart, started; the file for Compose", tiers: []tier{long}, needs: []need{cpu}, after: []string{"program", "packages"}, do: func(r *stepRun) {
		folder := filepath.Join(r.cache, "release", "two")
		r.run(in("", ".ci/release/twice "+folder))
		env := []string{"GOWORK=off", "TEST_DIST=" + filepath.Join(folder, "1/.ci/release/dist")}
		r.goTestEnv(".ci/release", env, "-count=1", "./...")
		r.goTestEnv(".ci/release/deploytest", env, "-count=1", "./...")
		r.run(command{env: env[:1], args: strings.Fields(".ci/lint/run -C .ci/release/deploytest ./...")})
	}},
	{name: "pairs", about: "ten million pairs of definitions and user: the Go client answers as the server", tiers: []tier{long}, needs: []need{cpu}, do: func(r *stepRun) {
		r.goTest("", "-timeout=2h", "-run=AnswersAsTheServer", "./adapters/httpapi/remotetest", "-pairs=10000000")
	}},
}

// isQuickWithout reports whether this is the quick tier and no file below the folders has changed.
func (r *stepRun) isQuickWithout(folders ...string) bool {
	if r.world.tier != quick {
		return false
	}
	c, err := r.changes()
	return err == nil && !c.in(folders...)
}

// testedPackages returns the packages of go.work except the packages of racing and of other steps.
func testedPackages() ([]string, error) {
	packages, err := listPackages()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range packages {
		if p.Dir != "adapters/command/faulttest" && !slices.Contains(racing, "./"+p.Dir) {
			paths = append(paths, p.ImportPath)
		}
	}
	return paths, nil
}

func checkFormat(r *stepRun) {
	files, err := git("ls-files", "--cached", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		r.fail("git", err.Error(), "")
		return
	}
	out, err := r.output(command{args: append([]string{"gofmt", "-l"}, existing(files)...)})
	if err != nil || out != "" {
		r.fail("gofmt would change these files", out, "make fmt")
	}
}

// checkNoAlloc runs the benchmarks named NoAlloc of packages and fails if one of them allocates, or
// if there are no such benchmarks.
func (r *stepRun) checkNoAlloc(packages ...string) {
	c := command{args: append(strings.Fields("go test -vet=off -run ^$ -bench NoAlloc -benchtime 2000x -benchmem"), packages...)}
	out, err := r.output(c)
	lines := strings.Split(out, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "Benchmark") })
	bad := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasSuffix(line, "\t       0 allocs/op") })
	switch {
	case err != nil:
		r.fail("benchmarks", out, c.String())
	case len(bad) > 0 || len(lines) == 0:
		r.fail(fmt.Sprintf("%d of %d benchmarks allocate", len(bad), len(lines)), strings.Join(bad, "\n")+"\n", c.String())
	}
}

func printSteps(out io.Writer, all []step) {
	for _, s := range all {
		tiers := s.tiers
		if tiers == nil {
			tiers = []tier{full, long}
		}
		fmt.Fprintf(out, "%-10s %-18s %s\n", s.name, strings.Trim(fmt.Sprint(tiers), "[]"), s.about)
	}
}

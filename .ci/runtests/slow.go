package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// racing are the packages in which several of our goroutines share data. Their tests run with the
// race detector, except the tests in sequential.
var racing = []string{
	"./flags", "./flags/serving", "./flags/flagshttp", "./capture", "./capture/queries",
	"./adapters/remote", "./adapters/httpapi/internal/admission", "./adapters/httpapi/internal/streams", "./adapters/internal/natsstream",
}

// withDatabases are packages in which goroutines share data too, but whose tests open databases.
// SQLite, the driver of PostgreSQL and what else they need take longer to build with the race
// detector than all of racing. All their tests run without it; with it run the files of
// httpapiFiles, and in the long tier all of them.
var withDatabases = []string{"./adapters/httpapi", "./adapters/server"}

// httpapiFiles are the files of adapters/httpapi with the tests in which goroutines meet: streams,
// budgets, limits, quotas and concurrent requests. They use projects and events in memory. The list
// must contain the files with the helpers of these tests, and none that imports adapters/internal/sqlstore.
var httpapiFiles = []string{
	"bounds_test.go", "capture_test.go", "capturebody_test.go", "capturebudget_test.go", "cases_test.go", "cors_test.go",
	"edgecases_test.go", "export_test.go", "exportcapture_test.go", "failures_test.go", "fixture_test.go", "limits_test.go",
	"mountings_test.go", "nil_test.go", "observe_test.go", "ofrep_test.go", "ofrepevents_test.go", "ofrepeventsbounds_test.go",
	"quota_test.go", "recorded_test.go", "stream_test.go", "streamend_test.go", "streamfixture_test.go", "streamtime_test.go", "want_test.go",
}

// sequential are tests of these packages that run without the race detector: tests that compute in
// one goroutine, where it cannot find races and is ten times slower, and tests that count
// allocations, to which it adds its own.
var sequential = []string{
	// flags
	"TestFlags_(AgreementLaw|4_.*|3_6_PlainLaw)", "TestExplain_ReplayGivesTheSameAnswer",
	"TestRecompile_AnswersAsCompile", "TestParseDefinitions_LongLists", "TestEngines_Rebucket",
	"TestFlags_(Decisions|Decision2_PartialLaw|2_1_ShortHash)", "TestExplain_EvaluationWithoutTraceAllocatesNothing", "TestPayload_1_8_LongChain", "TestParse_LongDocuments", "FuzzDefinitions",
	// capture
	"TestPlan_.*", "TestCapture_4_6_Bounds", "TestCapture_6_2_TooMany",
	// adapters/httpapi
	"TestCapture_(LongAIEvents|AIEventOfManyMembers|RefusalNamesTheRightLimit|6|7|17|18|18_Sealed|18_1_Bombs|19_1_RecordedRequests|4_6_V1Unpacked|4_6_TooLargeOnTheWire)",
	"TestDefinitions_AtMost.*", "TestFlagsDocument_.*", "TestRequests_LinesAreBounded",
	"TestLists_EveryParameter", "TestManagement_.*", "TestGoValues_AsTheServer",
	"TestOpenAPI_.*", "TestLists_AreDescribed", "TestErrors_PageHasEveryCode", "TestRollouts_.*",
	"TestNew_NilServiceHasNoRoutes", "TestHTTP_(MountedLinks|Authenticate|Cases|HeadIsAuthorisedAsGet|FullDisk|CompressedAnswers)", "TestShared_(Guesses.*|PagePassword|Charts)",
	"TestFlags_(9_11_.*|10_2_LongTokensAreNotRemembered)", "TestFlagCheck_Bounded", "TestDashboards_.*", "TestWarnIsBounded", "TestOIDC_.*",
	"TestCapture_Cases", "TestSession_(CrossSite|NotForPublicRows|ForeignHost|Next)", "TestBatchExport_(Failures|Pages|Backfill.*|Bounds)", "TestEvents_.*",
	"TestInsights_.*", "TestExperiments_Vectors", "TestQuery_.*", ".*EveryRoute.*",
}

// slowToBuild are packages that make a test program slow to build: the package that opens
// databases, with SQLite and the driver of PostgreSQL, and the package with the HTTP API.
var slowToBuild = []string{
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore", "github.com/bunting-flags/bunting/adapters/httpapi",
}

// slow are further tests that take more than a second. The quick tier omits them and the sequential
// tests.
var slow = []string{
	"TestScan_AsEncodingJSON", "TestDiff_Laws", "TestSignals_.*", "TestDecider_(RenewIsNotLost|FullRegistryBearsUnknownKeys)",
	"TestSimulated_.*", "TestSimulation_FullRollouts", "TestExperiments_(Vectors|MetricsShareMemory)", "TestRun_EveryKindIsBounded", "TestLaws_NothingIsMadeUncounted", "TestFunnels_Plain", "TestRetention_Plain", "TestTrends_AsTheText",
	"TestRemote_AnswersAsTheServer", "TestSource_(Faults_EveryOrderOfTwo|OnStatus|WithoutStreams)", "TestDecision_29_.*",
	"TestNew_.*", "TestShared_.*", "TestHTTP_Authenticate", "TestBudget_.*", "TestCapture_(Decision14_Budget|Cases)",
	"TestServer_Without.*", "TestServices_EqualAnswers", "TestPostgres.*", "TestFiles_ManyRows", ".*Postgres",
	"TestStore_Reading", "TestStore_Contract", "TestBlocks_.*", "TestChunks_.*", "TestLedger_.*", "TestEventsAfter.*", "TestBreaker_.*", "TestServers_.*", "TestSegments_.*", "TestServersSegments_.*", "TestMove_.*",
	"TestExportStore_.*", "TestPages_CommandsRun", "TestDemo_.*", "TestModules_.*", "TestServe_.*", "TestGenerate_.*",
}

// names returns a pattern for -skip that matches all tests of the lists.
func names(lists ...[]string) string {
	return "^(" + strings.Join(slices.Concat(lists...), "|") + ")$"
}

// raceFlags are arguments of go test. SQLite is C translated to Go, which manages its own memory: the
// detector finds no races there, and would take three times as long as for all other packages.
var raceFlags = []string{
	"-race", "-gcflags=modernc.org/sqlite/lib=-race=false -dwarf=false -c=1", "-gcflags=modernc.org/libc=-race=false -dwarf=false -c=1",
}

func runRace(r *stepRun) {
	overlay, err := r.withoutOtherFiles("adapters/httpapi", httpapiFiles)
	if err != nil {
		r.fail("list of files", err.Error(), "")
		return
	}
	r.race(append([]string{"-skip=" + names(sequential), "-overlay=" + overlay, "./adapters/httpapi"}, racing...)...)
}

// runRaceWithDatabases runs what runRace leaves out, and tests of the stores with concurrent calls.
func runRaceWithDatabases(r *stepRun) {
	r.race(append([]string{"-skip=" + names(sequential)}, withDatabases...)...)
	r.race("-run=^(TestLedger_.*|TestBreaker_.*|TestStore_Contract)$", "./adapters/internal/sqlstore")
}

func (r *stepRun) race(args ...string) {
	r.goTestEnv("", append(fewCollections, "GORACE=atexit_sleep_ms=100"), append(raceFlags, args...)...)
}

// withoutOtherFiles returns the path of a file for the flag -overlay, with which go test ignores the
// tests of a package that are not in files.
func (w *world) withoutOtherFiles(dir string, files []string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return "", err
	}
	for _, name := range files {
		if !slices.Contains(tests, filepath.Join(dir, name)) {
			return "", fmt.Errorf("%s has no file %s", dir, name)
		}
	}
	others := map[string]string{} // "" means that the file does not exist
	for _, path := range tests {
		if !slices.Contains(files, filepath.Base(path)) {
			others[path] = ""
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": others})
	if err != nil {
		return "", err
	}
	// The name is a hash, so that runs in several clones of the repository have several files.
	path := filepath.Join(w.cache, fmt.Sprintf("overlay-%x.json", sha256.Sum256(text)))
	return path, errors.Join(os.MkdirAll(w.cache, 0o755), os.WriteFile(path, text, 0o600))
}

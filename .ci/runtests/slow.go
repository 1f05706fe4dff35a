package main

import (
	"slices"
	"strings"
)

// racing are the packages in which several of our goroutines share data. Their tests run with the
// race detector, except the tests in sequential.
var racing = []string{
	"./flags", "./flags/serving", "./flags/flagshttp", "./capture", "./capture/queries",
	"./adapters/remote", "./adapters/httpapi", "./adapters/httpapi/internal/admission", "./adapters/internal/natsstream", "./adapters/server",
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
	"TestCapture_(LongAIEvents|AIEventOfManyMembers|RefusalNamesTheRightLimit|6|7|17|18|18_1_Bombs|19_1_RecordedRequests|4_6_V1Unpacked|4_6_TooLargeOnTheWire)",
	"TestDefinitions_AtMost.*", "TestFlagsDocument_.*", "TestRequests_LinesAreBounded",
	"TestLists_EveryParameter", "TestManagement_.*", "TestGoValues_AsTheServer",
	"TestOpenAPI_.*", "TestLists_AreDescribed", "TestErrors_PageHasEveryCode", "TestRollouts_.*",
	"TestNew_NilServiceHasNoRoutes", "TestHTTP_(MountedLinks|Authenticate|Cases|HeadIsAuthorisedAsGet|FullDisk|CompressedAnswers)", "TestShared_(Guesses.*|PagePassword|Charts)",
	"TestFlags_(9_11_.*|10_2_LongTokensAreNotRemembered)", "TestFlagCheck_Bounded", "TestDashboards_.*", "TestWarnIsBounded", "TestOIDC_.*",
	"TestCapture_Cases", "TestSession_(CrossSite|NotForPublicRows|ForeignHost|Next)", "TestBatchExport_(Failures|Pages|Backfill.*|Bounds)", "TestEvents_.*",
	"TestInsights_.*", "TestQuery_.*", ".*EveryRoute.*",
}

// slowToBuild are packages that make a test program slow to build: the package that opens
// databases, with SQLite and the driver of PostgreSQL, and the package with the HTTP API.
var slowToBuild = []string{
	"github.com/bunting-flags/bunting/adapters/sqlstore", "github.com/bunting-flags/bunting/adapters/httpapi",
}

// slow are further tests that take more than a second. The quick tier omits them and the sequential
// tests.
var slow = []string{
	"TestScan_AsEncodingJSON", "TestDiff_Laws", "TestDecider_(RenewIsNotLost|FullRegistryBearsUnknownKeys)",
	"TestSimulated_.*", "TestSimulation_FullRollouts", "TestExperiments_(Vectors|MetricsShareMemory)", "TestRun_EveryKindIsBounded", "TestLaws_NothingIsMadeUncounted", "TestFunnels_Plain", "TestRetention_Plain", "TestTrends_AsTheText",
	"TestRemote_AnswersAsTheServer", "TestSource_(Faults_EveryOrderOfTwo|OnStatus|WithoutStreams)", "TestDecision_29_.*",
	"TestNew_.*", "TestShared_.*", "TestHTTP_Authenticate", "TestBudget_.*", "TestCapture_(Decision14_Budget|Cases)",
	"TestServer_Without.*", "TestServices_EqualAnswers", "TestPostgres.*", "TestFiles_ManyRows", ".*Postgres",
	"TestStore_Reading", "TestStore_Contract", "TestBlocks_.*", "TestLedger_.*", "TestEventsAfter.*", "TestBreaker_.*", "TestServers_.*", "TestMove_.*",
	"TestExportStore_.*", "TestPages_CommandsRun", "TestDemo_.*", "TestModules_.*", "TestServe_.*", "TestGenerate_.*",
}

// names returns a pattern for -skip that matches all tests of the lists.
func names(lists ...[]string) string {
	return "^(" + strings.Join(slices.Concat(lists...), "|") + ")$"
}

func runRace(r *stepRun) {
	args := []string{
		"-race", "-skip=" + names(sequential),
		// SQLite is C translated to Go, which manages its own memory: the detector finds no races
		// there, and would take three times as long as for all other packages.
		"-gcflags=modernc.org/sqlite/lib=-race=false -dwarf=false", "-gcflags=modernc.org/libc=-race=false -dwarf=false",
	}
	r.goTestEnv("", append(fewCollections, "GORACE=atexit_sleep_ms=100"), append(args, racing...)...)
}

package house

// room is a row of the import table: the packages that a package may import in addition to the
// standard library, and whether it may import packages that do I/O.
type room struct {
	ours   []string
	others []string
	pure   bool // no I/O: no packages of impure
}

var (
	core = append([]string{"flags", "flags/serving", "capture"}, managementRooms...)
	// managementRooms are the package management, the packages below it, and the package that opens
	// them together.
	managementRooms = []string{"management", "management/errortracking", "management/batchexports", "management/dashboards", "management/changes", "management/cohorts", "management/earlyaccess", "management/experiments", "management/featureflags", "management/files", "management/rollouts", "management/surveys", "management/organizations", "management/rooms"}
	// managementBase are management and the packages below it that serve all others.
	managementBase = []string{"management", "management/internal/lists", "management/internal/notices", "management/internal/plain", "management/internal/records", "management/internal/resource", "management/internal/storage"}
	impure         = []string{"net", "os", "database", "log", "syscall", "embed", "plugin"}
	// leaf is the package for the text of the wire and of stores, which every package may import.
	leaf = "flags/wire"
	// harmless are packages below impure ones that do no I/O.
	harmless = []string{"net/netip", "net/url", "net/mail"}
)

// table lists the imports that each package may have. Arrows lead to lower floors only; adapters do
// not import one another.
var table = map[string]room{
	"flags":                               {pure: true, ours: []string{"flags/internal/rustregexp", "flags/internal/dates", "flags/internal/semver", "flags/internal/tape", "flags/internal/inside", "flags/internal/values"}, others: []string{"github.com/spaolacci/murmur3"}},
	"flags/serving":                       {pure: true, ours: []string{"flags", "flags/internal/values", "flags/internal/rustregexp"}, others: []string{"github.com/spaolacci/murmur3", "github.com/hashicorp/golang-lru/v2"}},
	"flags/internal/rustregexp":           {pure: true, others: []string{"github.com/dlclark/regexp2/v2"}},
	"flags/sdklint":                       {pure: true, ours: []string{"flags", "flags/internal/inside", "flags/internal/values", "flags/internal/rustregexp", "flags/internal/dates"}},
	"flags/flagstest":                     {pure: true, ours: []string{"flags"}},
	"flags/flagshttp":                     {ours: []string{"flags"}},
	"flags/internal/dates":                {pure: true},
	"flags/internal/semver":               {pure: true},
	"flags/internal/tape":                 {pure: true},
	"flags/internal/inside":               {pure: true},
	"flags/internal/values":               {pure: true},
	leaf:                                  {pure: true},
	"capture/guarded":                     {pure: true, ours: []string{"capture/experiments"}, others: []string{"gonum.org/v1/gonum"}},
	"capture/ids":                         {pure: true},
	"capture/jsontext":                    {pure: true},
	"geoip":                               {others: []string{"github.com/oschwald/geoip2-golang/v2", "github.com/hashicorp/golang-lru/v2"}},
	"capture":                             {pure: true, ours: []string{"capture/ids", "capture/jsontext"}, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"capture/experiments":                 {pure: true, others: []string{"gonum.org/v1/gonum"}},
	"capture/insights":                    {pure: true, ours: []string{"capture", "capture/experiments", "flags", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/breakdown", "capture/insights/internal/trends", "capture/insights/internal/funnels", "capture/insights/internal/retention", "capture/insights/internal/trials", "capture/insights/internal/stats", "capture/insights/internal/sqlquery", "capture/insights/internal/lifecycle", "capture/insights/internal/plaintest"}},
	"capture/insights/port":               {pure: true, ours: []string{"capture", "capture/experiments", "flags"}},
	"capture/insights/internal/document":  {pure: true, ours: []string{"flags", "capture/insights/port"}},
	"capture/insights/internal/calendar":  {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/hogql", "capture/insights/internal/plaintest"}},
	"capture/insights/internal/scan":      {pure: true, ours: []string{"capture/jsontext", "capture", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/hogql", "capture/insights/internal/plaintest"}},
	"capture/insights/internal/filter":    {pure: true, ours: []string{"capture", "flags", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/scan", "capture/insights/internal/hogql", "capture/insights/internal/boundedre", "capture/insights/internal/plaintest", "capture/insights/internal/querytest"}},
	"capture/insights/internal/breakdown": {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/querytest"}},
	"capture/insights/internal/trends":    {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/breakdown", "capture/insights/internal/hogql", "capture/insights/internal/querytest"}},
	"capture/insights/internal/funnels":   {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/breakdown", "capture/insights/internal/plaintest", "capture/insights/internal/querytest"}},
	"capture/insights/internal/retention": {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/breakdown", "capture/insights/internal/querytest"}},
	"capture/insights/internal/trials":    {pure: true, ours: []string{"capture", "capture/experiments", "capture/guarded", "flags", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/breakdown", "capture/insights/internal/querytest"}},
	"capture/insights/internal/stats":     {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/querytest"}},
	"capture/insights/internal/sqlquery":  {pure: true, ours: []string{"capture", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/hogql", "capture/insights/internal/querytest"}},
	"capture/insights/internal/lifecycle": {pure: true, ours: []string{"capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/calendar", "capture/insights/internal/scan", "capture/insights/internal/filter", "capture/insights/internal/trends", "capture/insights/internal/querytest"}},
	"capture/insights/internal/querytest": {pure: true, ours: []string{"capture", "capture/insights/port", "capture/insights/internal/document", "capture/insights/internal/scan"}},
	"capture/insights/internal/plaintest": {pure: true},
	"capture/insights/internal/boundedre": {pure: true},
	"capture/insights/internal/hogql":     {pure: true, ours: []string{"capture/jsontext", "capture/insights/internal/boundedre"}},
	"capture/queries":                     {pure: true, ours: []string{"capture", "capture/insights", "capture/insights/port", "flags"}},
	"management":                          {pure: true, ours: []string{"flags", "capture/ids", "management/internal/plain", "management/internal/storage"}},
	"management/internal/storage":         {pure: true},
	"management/internal/plain":           {pure: true},
	"management/internal/lists":           {pure: true, ours: []string{"management"}},
	"management/internal/notices":         {pure: true},
	"management/internal/records":         {pure: true, ours: []string{"management", "management/internal/storage"}},
	"management/internal/resource":        {pure: true, ours: []string{"management", "management/internal/records", "management/internal/storage"}},
	"management/internal/approvals":       {pure: true, ours: managementBase},
	"management/errortracking":            {pure: true, ours: append([]string{"flags"}, managementBase...)},
	"management/batchexports":             {pure: true, ours: append([]string{"flags"}, managementBase...)},
	"management/dashboards":               {pure: true, ours: append([]string{"flags"}, managementBase...), others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"management/internal/definitions":     {pure: true, ours: append([]string{"flags"}, managementBase...)},
	"management/internal/storedcohorts":   {pure: true, ours: append([]string{"flags", "management/internal/definitions"}, managementBase...)},
	"management/internal/storedflags":     {pure: true, ours: append([]string{"flags", "management/internal/approvals", "management/internal/definitions", "management/internal/storedcohorts"}, managementBase...)},
	"management/cohorts":                  {pure: true, ours: append([]string{"flags", "management/internal/definitions", "management/internal/storedcohorts", "management/internal/storedflags"}, managementBase...)},
	"management/featureflags":             {pure: true, ours: append([]string{"flags", "management/internal/definitions", "management/internal/storedcohorts", "management/internal/storedflags", "management/cohorts"}, managementBase...)},
	"management/changes":                  {pure: true, ours: append([]string{"management/internal/definitions", "management/internal/approvals", "management/internal/storedflags"}, managementBase...)},
	"management/earlyaccess":              {pure: true, ours: append([]string{"management/internal/definitions", "management/internal/storedflags"}, managementBase...)},
	"management/surveys":                  {pure: true, ours: append([]string{"management/internal/definitions", "management/internal/storedflags"}, managementBase...)},
	"management/experiments":              {pure: true, ours: append([]string{"capture/experiments", "management/internal/definitions", "management/internal/storedcohorts", "management/internal/storedflags", "management/cohorts", "management/featureflags"}, managementBase...)},
	"management/rollouts":                 {pure: true, ours: append([]string{"flags", "capture/experiments", "capture/guarded", "management/internal/definitions", "management/internal/storedflags", "management/experiments"}, managementBase...)},
	"management/files":                    {pure: true, ours: []string{"management", "flags"}},
	"management/organizations":            {pure: true, ours: append([]string{"flags", "management/internal/approvals"}, managementBase...)},
	"management/rooms":                    {pure: true, ours: append([]string{"management/internal/definitions"}, managementRooms...)},
	// for the tests of the packages
	"management/internal/memstore":                 {pure: true, ours: append([]string{"flags"}, managementRooms...)},
	"management/internal/flagtest":                 {pure: true, ours: append([]string{"management/internal/memstore", "management/internal/ruletest", "management/internal/approvals", "management/internal/definitions"}, managementRooms...)},
	"management/internal/ruletest":                 {pure: true, ours: []string{"management", "management/internal/records", "management/internal/storage", "management/rooms"}},
	"adapters/internal/pgtest":                     {others: []string{"github.com/jackc/pgx/v5", "modernc.org/sqlite"}},
	"adapters/httpapi/internal/problem":            {ours: []string{"flags", "capture", "management"}},
	"adapters/httpapi/internal/admission":          {ours: []string{"geoip", "adapters/httpapi/internal/problem", "management"}, others: []string{"github.com/hashicorp/golang-lru/v2", "golang.org/x/time"}},
	"adapters/httpapi/internal/unpack":             {ours: []string{"adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission"}, others: []string{"github.com/andybalholm/brotli", "github.com/klauspost/compress"}},
	"adapters/httpapi/internal/frame":              {ours: append([]string{"capture/queries", "geoip", "capture/ids", "adapters/httpapi/internal/pages", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission"}, core...), others: []string{"github.com/go-chi/chi/v5", "golang.org/x/time", "github.com/klauspost/compress", "go.opentelemetry.io/otel"}},
	"adapters/httpapi/internal/streams":            {ours: []string{"adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission", "adapters/httpapi/internal/frame", "flags", "flags/serving"}},
	"adapters/httpapi/internal/openapi":            {ours: []string{"adapters/httpapi/internal/problem", "adapters/httpapi/internal/frame", "capture", "management"}, others: []string{"github.com/swaggest/jsonschema-go"}},
	"adapters/httpapi/internal/history":            {ours: append([]string{"capture/insights/port", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/unpack", "adapters/httpapi/internal/frame", "adapters/httpapi/internal/streams"}, core...)},
	"adapters/httpapi/internal/sdk":                {ours: []string{"capture/ids", "capture/jsontext", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission", "adapters/httpapi/internal/unpack", "adapters/httpapi/internal/frame", "adapters/httpapi/internal/streams", "flags", "flags/serving", "management", "management/organizations"}, others: []string{"github.com/spaolacci/murmur3"}},
	"adapters/httpapi/internal/intake":             {ours: []string{"adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission", "adapters/httpapi/internal/unpack", "adapters/httpapi/internal/frame", "flags", "capture", "management/earlyaccess"}},
	"adapters/httpapi/internal/signin":             {ours: []string{"adapters/httpapi/internal/problem", "adapters/httpapi/internal/frame", "management", "management/organizations", "management/rooms"}},
	"adapters/httpapi/internal/results":            {ours: append([]string{"capture/experiments", "capture/guarded", "capture/insights", "capture/insights/port", "capture/queries", "adapters/httpapi/internal/charts", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/frame"}, core...)},
	"adapters/httpapi/internal/manage":             {ours: append([]string{"capture/insights/port", "capture/queries", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/frame", "adapters/httpapi/internal/streams", "adapters/httpapi/internal/history", "adapters/httpapi/internal/results"}, core...)},
	"adapters/httpapi/internal/pages":              {},
	"adapters/httpapi/internal/charts":             {pure: true},
	"adapters/httpapi":                             {ours: []string{"capture/queries", "geoip", "adapters/httpapi/internal/pages", "adapters/httpapi/internal/problem", "adapters/httpapi/internal/admission", "adapters/httpapi/internal/unpack", "adapters/httpapi/internal/frame", "adapters/httpapi/internal/streams", "adapters/httpapi/internal/openapi", "adapters/httpapi/internal/history", "adapters/httpapi/internal/sdk", "adapters/httpapi/internal/intake", "adapters/httpapi/internal/signin", "adapters/httpapi/internal/results", "adapters/httpapi/internal/manage", "flags", "flags/serving", "capture", "management", "management/rooms"}, others: []string{"go.opentelemetry.io/otel"}},
	"adapters/internal/sqlstore/internal/database": {ours: []string{"capture"}, others: []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/pressly/goose/v3", "github.com/gofrs/flock", "github.com/hashicorp/golang-lru/v2"}},
	"adapters/internal/sqlstore/internal/people":   {ours: []string{"adapters/internal/sqlstore/internal/database", "capture", "flags", "flags/serving"}, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"adapters/internal/sqlstore/internal/block":    {pure: true, ours: []string{"capture"}, others: []string{"github.com/klauspost/compress", "github.com/spaolacci/murmur3"}},
	"adapters/internal/sqlstore/internal/segment":  {ours: []string{"adapters/internal/bucket", "adapters/internal/sqlstore/internal/block", "adapters/remote/lastgood", "capture", "capture/jsontext"}, others: []string{"github.com/parquet-go/parquet-go", "github.com/klauspost/compress", "github.com/hashicorp/golang-lru/v2", "golang.org/x/sync", "github.com/gofrs/flock"}},
	"adapters/internal/sqlstore/internal/events":   {ours: []string{"adapters/internal/sqlstore/internal/block", "adapters/internal/sqlstore/internal/database", "adapters/internal/memory", "adapters/internal/sqlstore/internal/people", "adapters/internal/sqlstore/internal/segment", "capture", "capture/insights/port", "capture/queries"}, others: []string{"github.com/hashicorp/golang-lru/v2", "github.com/spaolacci/murmur3"}},
	"adapters/internal/sqlstore/internal/copies":   {ours: []string{"adapters/internal/sqlstore/internal/block", "adapters/internal/sqlstore/internal/database", "adapters/internal/sqlstore/internal/events", "adapters/internal/sqlstore/internal/segment", "adapters/remote/lastgood"}, others: []string{"github.com/jackc/pgx/v5", "github.com/gofrs/flock"}},
	"adapters/internal/sqlstore": {ours: append([]string{"adapters/internal/throttle", "adapters/internal/memory", "adapters/internal/sqlstore/internal/segment", "adapters/internal/sqlstore/internal/block", "adapters/internal/sqlstore/internal/database", "adapters/internal/sqlstore/internal/people", "adapters/internal/sqlstore/internal/events", "adapters/internal/sqlstore/internal/copies", "capture/insights", "capture/insights/port", "capture/queries"}, core...), others: []string{
		"github.com/jackc/pgx/v5", "github.com/hashicorp/golang-lru/v2", "github.com/spaolacci/murmur3",
	}},
	"adapters/internal/certificates":   {ours: []string{"adapters/remote/lastgood"}, others: []string{"golang.org/x/crypto/acme"}},
	"adapters/internal/backups":        {ours: []string{"adapters/internal/bucket", "adapters/remote/lastgood"}, others: []string{"filippo.io/age"}},
	"adapters/internal/bucket":         {others: []string{"github.com/minio/minio-go/v7"}},
	"adapters/internal/natsstream":     {ours: []string{"capture", "adapters/internal/throttle"}, others: []string{"github.com/nats-io/nats.go", "github.com/klauspost/compress", "github.com/spaolacci/murmur3"}},
	"adapters/remote/lastgood":         {}, // below its neighbours: the server and its remote clients store copies in the same way, and commands replace files
	"adapters/internal/fallbacksource": {ours: []string{"flags", "flags/serving", "adapters/remote/lastgood", "adapters/internal/throttle"}},
	"adapters/console":                 {ours: []string{"adapters/internal/accept"}},
	"adapters/internal/docs":           {ours: []string{"adapters/internal/accept"}},
	"adapters/internal/accept":         {},
	"adapters/internal/shadow":         {ours: []string{"adapters/internal/throttle"}, others: []string{"golang.org/x/sync"}},
	"adapters/internal/throttle":       {},
	"adapters/internal/memory":         {},
	"adapters/flaglint":                {ours: []string{"flags"}, others: []string{"golang.org/x/tools"}},
	"cmd/flaglint":                     {ours: []string{"adapters/flaglint"}, others: []string{"golang.org/x/tools"}},
	"adapters/filesource":              {ours: []string{"flags", "flags/serving"}, others: []string{"github.com/fsnotify/fsnotify"}},
	"adapters/remote":                  {ours: []string{"flags", "flags/serving", "adapters/remote/lastgood"}, others: []string{"github.com/hashicorp/golang-lru/v2"}},
	"adapters/internal/smtpmail":       {ours: []string{"management/organizations"}, others: []string{"github.com/wneessen/go-mail"}},
	"adapters/internal/passkeys":       {ours: []string{"management/organizations"}, others: []string{"github.com/go-webauthn/webauthn"}},
	"adapters/internal/oidc":           {ours: []string{"management/organizations"}, others: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"}},
	"adapters/internal/oidctest":       {others: []string{"github.com/go-jose/go-jose/v4"}},
	"adapters/internal/smtptest":       {ours: []string{"management/organizations", "adapters/internal/smtpmail"}, others: []string{"github.com/emersion/go-smtp", "github.com/emersion/go-sasl"}},
	"adapters/internal/dnstxt":         {ours: []string{"management/organizations"}, others: []string{"github.com/miekg/dns"}},
	"adapters/internal/exports": {ours: []string{"capture/ids", "management", "management/batchexports"}, others: []string{
		"github.com/minio/minio-go/v7", "github.com/jackc/pgx/v5", "github.com/parquet-go/parquet-go",
		"github.com/klauspost/compress", "github.com/andybalholm/brotli",
	}},
	"adapters/ofprovider":       {ours: []string{"flags", "flags/serving"}, others: []string{"github.com/open-feature/go-sdk"}},
	"adapters/otelhook":         {ours: []string{"flags"}, others: []string{"go.opentelemetry.io/otel"}},
	"adapters/promhook":         {ours: []string{"flags"}, others: []string{"github.com/prometheus/client_golang"}},
	"adapters/internal/metrics": {ours: []string{"flags", "flags/serving", "capture", "capture/queries"}, others: []string{"github.com/prometheus/client_golang"}},
	"adapters/internal/otlp": {ours: []string{"capture/ids", "adapters/internal/throttle"}, others: []string{
		"go.opentelemetry.io/otel", "go.opentelemetry.io/contrib", "go.opentelemetry.io/proto/otlp", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/prometheus/client_golang", "golang.org/x/net",
	}},
	"adapters/storetest": {ours: append([]string{"capture/insights", "capture/insights/port", "capture/queries"}, core...), others: []string{"github.com/google/go-cmp"}},
	"adapters/server": {ours: append([]string{ // the top floor
		"geoip", "adapters/httpapi", "adapters/internal/sqlstore", "adapters/internal/backups", "adapters/internal/certificates", "adapters/internal/natsstream", "adapters/filesource", "adapters/internal/smtpmail", "adapters/internal/dnstxt",
		"adapters/internal/exports", "adapters/internal/metrics", "adapters/internal/passkeys", "adapters/internal/oidc", "adapters/internal/fallbacksource", "adapters/internal/shadow", "adapters/internal/throttle", "adapters/internal/memory", "adapters/remote/lastgood", "capture/insights", "capture/insights/port", "capture/queries",
	}, core...), others: []string{"github.com/prometheus/client_golang", "go.opentelemetry.io/otel"}},
	"adapters/command": {ours: []string{
		"flags", "flags/serving", "adapters/server", "adapters/console", "adapters/internal/docs", "adapters/internal/otlp", "adapters/internal/memory", "adapters/remote/lastgood",
		"adapters/command/internal/cli", "adapters/command/internal/settings", "adapters/command/internal/client", "adapters/command/internal/local",
	}},
	"cmd/bunting": {ours: []string{"adapters/command"}},
	"cmd/examples": {
		ours:   []string{"flags", "flags/serving", "flags/flagshttp", "geoip", "capture", "management", "adapters/httpapi", "adapters/filesource", "adapters/remote", "adapters/ofprovider", "adapters/server"},
		others: []string{"github.com/go-chi/chi/v5", "github.com/open-feature/go-sdk"},
	},
	"adapters/command/internal/cli":     {ours: []string{"flags"}, others: []string{"golang.org/x/term"}},
	"adapters/command/internal/clitest": {ours: []string{"adapters/command/internal/cli"}},
	"adapters/command/internal/settings": {ours: append([]string{
		"adapters/command/internal/cli", "adapters/internal/memory", "adapters/internal/backups", "adapters/internal/certificates", "adapters/internal/dnstxt", "adapters/internal/smtpmail", "adapters/server", "adapters/httpapi", "geoip",
	}, managementRooms...)},
	"adapters/command/internal/flagsdiff": {pure: true, ours: []string{"flags"}},
	"adapters/command/internal/convert":   {ours: []string{"flags"}, others: []string{"go.yaml.in/yaml/v3"}},
	"adapters/command/internal/client":    {ours: []string{"adapters/command/internal/cli", "adapters/command/internal/codegen", "adapters/command/internal/convert", "adapters/command/internal/demodata", "adapters/remote/lastgood", "capture", "flags", "capture/ids", "management/featureflags"}},
	"adapters/command/internal/codegen":   {ours: []string{"flags", "adapters/flaglint"}},
	"adapters/command/internal/demodata":  {ours: []string{"capture", "flags", "capture/ids"}},
	"adapters/command/internal/local": {ours: append([]string{
		"adapters/command/internal/cli", "adapters/command/internal/settings", "adapters/internal/backups", "adapters/internal/natsstream", "adapters/server", "adapters/filesource", "adapters/internal/sqlstore", "flags", "adapters/command/internal/flagsdiff", "flags/sdklint", "geoip",
	}, managementRooms...)},
}

// contextFiles are the files of flags that may use a context, besides flags/serving, which calls
// stores. In the rest of the package, every function depends only on its arguments.
var contextFiles = []string{"flags/reader.go", "flags/readset.go", "flags/snapshot.go", "flags/hook.go", "flags/open.go", "flags/flagstest/flagstest.go", "flags/wire/context.go"}

// openFile is the only file of flags that reads files: a definitions file, for flags.Open.
const openFile = "flags/open.go"

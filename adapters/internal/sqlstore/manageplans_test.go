package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sqlitedriver "modernc.org/sqlite"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// statementRecorder records the statements of a database.
type statementRecorder struct {
	dsn   string
	mu    sync.Mutex
	texts map[string]bool
}

func (r *statementRecorder) Driver() driver.Driver { return &sqlitedriver.Driver{} }

func (r *statementRecorder) Connect(context.Context) (driver.Conn, error) {
	c, err := r.Driver().Open(r.dsn)
	return &recordingConn{c, r}, err
}

// recordingConn hides all methods to run a statement except Prepare.
type recordingConn struct {
	driver.Conn
	recorder *statementRecorder
}

func (c *recordingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.recorder.mu.Lock()
	c.recorder.texts[text] = true
	c.recorder.mu.Unlock()
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (c *recordingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}

// newRecordingStore returns a store on disk whose statements are recorded.
func newRecordingStore(t testing.TB, r *statementRecorder) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openStore(t, "sqlite:"+path)
	r.dsn = database.SQLiteDSN(path)
	db, read, write := sql.OpenDB(r), s.db.Read, s.db.Write
	db.SetMaxOpenConns(1)
	s.db.Read, s.db.Write = db, db
	t.Cleanup(func() {
		s.db.Read, s.db.Write = read, write
		_ = db.Close()
	})
	return s
}

// allowedScans are prefixes of statements that may scan a table or sort many rows, with
// the reason.
var allowedScans = map[string]string{
	"SELECT id, name, quotas, origin, created_at, meta FROM organizations ORDER BY id":                                                                                   "all organizations of a server, which are wanted",
	"SELECT id, organization_id, name, api_key, settings, paused, anonymize_ips, origin, deleted, created_at, meta, browser FROM projects WHERE deleted = 0 ORDER BY id": "all projects of a server, which are wanted",
	"WITH c(id) AS (VALUES": "the members of static cohorts, which are wanted up to a limit",
	"SELECT 0 AS kind, id, settings FROM projects WHERE id = $1 UNION ALL": "all definitions of a project, which decide its flags",
}

// requiredIndexes are indexes for statements that could also use an index with more
// rows than needed.
var requiredIndexes = map[string]string{
	"FROM flag_records WHERE project_id = $1 AND key = $2":                           "flag_records_by_key",
	"FROM records WHERE kind = $1 AND name = $2":                                     "records_by_name",
	"FROM records WHERE kind = $1 AND hidden = $2 AND par":                           "records_by_sort",
	"FROM records WHERE kind = $1 AND hidden = $2 AND oth":                           "records_by_other",
	"FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id >": "cohort_members_by_cohort",
	"FROM flag_records WHERE project_id = $1 AND deleted = $2":                       "flag_records_shown",
	"FROM cohort_records WHERE project_id = $1 AND deleted = $2":                     "cohort_records_shown",
	"FROM api_keys WHERE kind = 'secret'":                                            "api_keys_secret",
}

func isScanAllowed(text string) bool {
	for beginning, reason := range allowedScans {
		if reason != "" && strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

// manageFiles are the files whose statements are checked.
var manageFiles = []string{"manage.go", "managerecords.go", "manageplaces.go", "managedefinitions.go", "manageflaghours.go"}

// Every statement of management finds its rows by an index (decision 25): a longer list
// does not slow down the access to single objects. Filters and searches are exempt,
// since they read all rows of one list, which an index finds too.
func TestManagement_Plans(t *testing.T) {
	r := &statementRecorder{texts: map[string]bool{}}
	storetest.Management(t, func(t testing.TB) storetest.ManagementStore { return managementStore{newRecordingStore(t, r)} })
	s := newRecordingStore(t, r)
	runRest(t, managementStore{s})
	texts := make([]string, 0, len(r.texts))
	for text := range r.texts {
		texts = append(texts, text)
	}
	for literal, position := range literals(t) {
		found := false
		for _, text := range texts {
			found = found || strings.Contains(text, literal)
		}
		if !found {
			t.Errorf("%s: %q was never run here: ask for it in askRest", position, literal)
		}
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "PRAGMA") {
			continue
		}
		plan := planOf(t, s, text)
		words := strings.Join(strings.Fields(text), " ")
		for part, index := range requiredIndexes {
			if strings.Contains(words, part) && !strings.Contains(plan, index) {
				t.Errorf("%s\ndoes not use the index %s:\n%s", words, index, plan)
			}
		}
		if !isScanAllowed(words) && badPlan.MatchString(plan) {
			t.Errorf("%s\nreads more than it needs:\n%s", words, plan)
		}
	}
}

// badPlan returns the lines of a query plan that scan a whole table or sort a table
// that may be large. Constant rows are exempt.
var badPlan = regexp.MustCompile(`(?m)^SCAN (?:[^c0-9]|c[^o])|TEMP B-TREE FOR ORDER BY$`)

func planOf(t testing.TB, s *Store, text string) string {
	t.Helper()
	args := make([]any, 0, 8)
	highest := strings.Count(text, "?")
	for _, n := range database.Numbered.FindAllString(text, -1) {
		number, err := strconv.Atoi(n[1:])
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, number)
	}
	for range highest {
		args = append(args, nil)
	}
	var plan strings.Builder
	err := database.Query(context.Background(), s.db.Read, func(rows *sql.Rows) error {
		var id, parent, unused int
		var line string
		err := rows.Scan(&id, &parent, &unused, &line)
		plan.WriteString(line + "\n")
		return err
	}, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(text, err)
	}
	return plan.String()
}

// postgresOnly matches statements with functions that only PostgreSQL has.
var postgresOnly = regexp.MustCompile(`pg_advisory|clock_timestamp`)

// literals returns the statements in the files, up to the first inserted value, and
// their positions.
func literals(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	files := token.NewFileSet()
	for _, name := range manageFiles {
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ = strings.Cut(text, "%")
			if statement.MatchString(text) && !postgresOnly.MatchString(text) {
				out[text] = files.Position(l.Pos()).String()
			}
			return true
		})
	}
	if len(out) < 30 {
		t.Errorf("%d statements in %v: are they still found?", len(out), manageFiles)
	}
	return out
}

var statement = regexp.MustCompile(`^ ?(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|ORDER) `)

// runRest runs the statements that the contract test does not run.
func runRest(t testing.TB, s managementStore) {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		p := management.ProjectRecord{ID: 1, Organization: "o", Name: "p", APIKey: "phc_1", CreatedAt: at}
		d := management.Definition{Record: []byte("{}"), Origin: "file", ID: 7}
		existing := management.Definition{Record: []byte("{}")}
		for _, do := range []func() error{
			func() error {
				return tx.PutOrganization(&management.OrganizationRecord{ID: "o", Name: "o", CreatedAt: at})
			},
			func() error { return tx.DeleteOrganization("o") },
			func() error { return tx.PutProject(&p) },
			func() error { return tx.PutDefinition(management.CohortDefinition, 1, &d) },
			func() error { return tx.PutDefinition(management.CohortDefinition, 1, &existing) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return runEach(tx)
	})
	if err == nil {
		err = s.AddEvaluations(context.Background(), at, []Evaluation{{"phc_1", "f", "true", 1}})
	}
	if err == nil {
		_, err = s.DeleteFlagHours(context.Background(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runEach(tx rooms.Tx) (err error) {
	note := func(_ any, e error) {
		if err == nil {
			err = e
		}
	}
	note(tx.KeyByID("k"))
	note(tx.Key("h"))
	note(tx.Keys(1))
	note(tx.SecretKeys(1))
	note(tx.Organizations())
	note(tx.Projects(""))
	note(tx.ProjectByKey("phc_1"))
	note(tx.DefinitionByKey(management.FlagDefinition, 1, "k"))
	note(tx.GroupTypes(1))
	note(tx.FlagCalls(1, "k"))
	note(tx.LastCalls(1))
	note(tx.UnseenEvents(1, []string{"a", "b"}))
	hours := management.HoursQuery{Project: 1, Keys: []string{"a", "b"}}
	note(tx.FlagTotals(hours))
	note(tx.FlagHours(hours))
	hours.Values = []string{"true", "false"}
	note(tx.FlagHours(hours))
	note(tx.Usage("o", "events", time.Unix(0, 0)))
	note(tx.CountMembers(1, 7))
	note(tx.Members(1, 7, "", 10))
	note(tx.FilterMembers(1, 7, []string{"a", "b", "c"}))
	for _, q := range []management.Query{
		{Kind: "k", Parent: "p", Limit: 10}, {Kind: "k", Parent: "p", Hidden: true, Descending: true, Limit: 10},
		{Kind: "k", Other: "o", Limit: 10, Offset: 5}, {Kind: "k", Other: "o", Descending: true},
		{Kind: "k", Parent: "p", From: "a", To: "b", Limit: 10}, {Kind: "k", Other: "o", From: "a", Descending: true},
		{Kind: "k", Parent: "p", Match: func(*management.Record) bool { return true }, Descending: true},
	} {
		_, _, e := tx.List(q)
		note(nil, e)
	}
	for _, q := range []management.DefinitionQuery{
		{Kind: management.FlagDefinition, Project: 1, Limit: 10}, {Kind: management.CohortDefinition, Project: 1, Limit: 10, Deleted: true},
		{Kind: management.FlagDefinition, Project: 1, Match: func(*management.Definition) bool { return true }},
	} {
		_, _, e := tx.Definitions(q)
		note(nil, e)
	}
	note(nil, tx.DeleteDefinition(management.FlagDefinition, 1, 9))
	note(nil, tx.RemoveMembers(1, 7, []string{"a"}))
	note(nil, tx.DeleteKey("k"))
	note(nil, tx.DeleteUnder("k", "p"))
	return err
}

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

	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/rooms"
)

// recorded is a database whose statements are remembered.
type recorded struct {
	dsn   string
	mu    sync.Mutex
	texts map[string]bool
}

func (r *recorded) Driver() driver.Driver { return &sqlitedriver.Driver{} }

func (r *recorded) Connect(context.Context) (driver.Conn, error) {
	c, err := r.Driver().Open(r.dsn)
	return &recordedConn{c, r}, err
}

// recordedConn hides all ways to run a statement but preparing it.
type recordedConn struct {
	driver.Conn
	of *recorded
}

func (c *recordedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.of.mu.Lock()
	c.of.texts[text] = true
	c.of.mu.Unlock()
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (c *recordedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}

// recordedStore is a store on disk whose statements are remembered.
func recordedStore(t testing.TB, r *recorded) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openStore(t, "sqlite:"+path)
	r.dsn = sqliteDSN(path)
	db, read, write := sql.OpenDB(r), s.read, s.write
	db.SetMaxOpenConns(1)
	s.read, s.write = db, db
	t.Cleanup(func() {
		s.read, s.write = read, write
		_ = db.Close()
	})
	return s
}

// scansAllowed are the beginnings of statements that read a whole table or sort
// much, and why they may.
var scansAllowed = map[string]string{
	"SELECT id, name, quotas, origin, created_at, meta FROM organizations ORDER BY id":                                                                                   "all organizations of a server, which are wanted",
	"SELECT id, organization_id, name, api_key, settings, paused, anonymize_ips, origin, deleted, created_at, meta, browser FROM projects WHERE deleted = 0 ORDER BY id": "all projects of a server, which are wanted",
	"WITH c(id) AS (VALUES": "the members of static cohorts, which are wanted up to a limit",
	"SELECT 0 AS kind, id, settings FROM projects WHERE id = $1 UNION ALL": "all definitions of a project, which decide its flags",
}

// indexWanted are the indexes of statements that could use one which finds more
// rows than they want.
var indexWanted = map[string]string{
	"FROM flag_records WHERE project_id = $1 AND key = $2":                           "flag_records_by_key",
	"FROM records WHERE kind = $1 AND name = $2":                                     "records_by_name",
	"FROM records WHERE kind = $1 AND hidden = $2 AND par":                           "records_by_sort",
	"FROM records WHERE kind = $1 AND hidden = $2 AND oth":                           "records_by_other",
	"FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id >": "cohort_members_by_cohort",
	"FROM flag_records WHERE project_id = $1 AND deleted = $2":                       "flag_records_shown",
	"FROM cohort_records WHERE project_id = $1 AND deleted = $2":                     "cohort_records_shown",
	"FROM api_keys WHERE kind = 'secret'":                                            "api_keys_secret",
}

func mayScan(text string) bool {
	for beginning, reason := range scansAllowed {
		if reason != "" && strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

// manageFiles are those whose statements are looked at.
var manageFiles = []string{"manage.go", "managerecords.go", "manageplaces.go", "managedefinitions.go", "manageflaghours.go"}

// Every statement of management finds its rows by an index (decision 25): a list
// may grow without making what reads one thing slower. Matches and searches are
// exempt: they read the rows of one list, which its index finds, too.
func TestManagement_Plans(t *testing.T) {
	r := &recorded{texts: map[string]bool{}}
	storetest.Management(t, func(t testing.TB) storetest.ManagementStore { return ManagementStore{recordedStore(t, r)} })
	s := recordedStore(t, r)
	askRest(t, ManagementStore{s})
	texts := make([]string, 0, len(r.texts))
	for text := range r.texts {
		texts = append(texts, text)
	}
	for literal, where := range literals(t) {
		found := false
		for _, text := range texts {
			found = found || strings.Contains(text, literal)
		}
		if !found {
			t.Errorf("%s: %q was never run here: ask for it in askRest", where, literal)
		}
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "PRAGMA") {
			continue
		}
		plan := planOf(t, s, text)
		words := strings.Join(strings.Fields(text), " ")
		for part, index := range indexWanted {
			if strings.Contains(words, part) && !strings.Contains(plan, index) {
				t.Errorf("%s\ndoes not use the index %s:\n%s", words, index, plan)
			}
		}
		if !mayScan(words) && badPlan.MatchString(plan) {
			t.Errorf("%s\nreads more than it needs:\n%s", words, plan)
		}
	}
}

// badPlan are the lines of plans that read a whole table, or sort one that may be
// long. Constant rows are none.
var badPlan = regexp.MustCompile(`(?m)^SCAN (?:[^c0-9]|c[^o])|TEMP B-TREE FOR ORDER BY$`)

func planOf(t testing.TB, s *Store, text string) string {
	t.Helper()
	args := make([]any, 0, 8)
	highest := strings.Count(text, "?")
	for _, n := range numbered.FindAllString(text, -1) {
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
	err := query(context.Background(), s.read, func(rows *sql.Rows) error {
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

// literals are the statements that stand in the files, up to where something is
// filled in, and their places.
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
			if statement.MatchString(text) && !strings.Contains(text, "pg_advisory") {
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

// askRest runs the statements that the contract does not.
func askRest(t testing.TB, s ManagementStore) {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		p := management.ProjectRecord{ID: 1, Organization: "o", Name: "p", APIKey: "phc_1", CreatedAt: at}
		d := featureflags.Definition{Record: []byte("{}"), Origin: "file", ID: 7}
		taken := featureflags.Definition{Record: []byte("{}")}
		for _, do := range []func() error{
			func() error {
				return tx.PutOrganization(&management.OrganizationRecord{ID: "o", Name: "o", CreatedAt: at})
			},
			func() error { return tx.DeleteOrganization("o") },
			func() error { return tx.PutProject(&p) },
			func() error { return tx.PutDefinition(featureflags.CohortDefinition, 1, &d) },
			func() error { return tx.PutDefinition(featureflags.CohortDefinition, 1, &taken) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return askEach(tx)
	})
	if err == nil {
		err = s.AddEvaluated(context.Background(), at, []Evaluated{{"phc_1", "f", "true", 1}})
	}
	if err == nil {
		_, err = s.DropFlagHours(context.Background(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func askEach(tx rooms.Tx) (err error) {
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
	note(tx.DefinitionByKey(featureflags.FlagDefinition, 1, "k"))
	note(tx.GroupTypes(1))
	note(tx.FlagCalls(1, "k"))
	note(tx.LastCalls(1))
	hours := featureflags.HoursQuery{Project: 1, Keys: []string{"a", "b"}}
	note(tx.FlagTotals(hours))
	note(tx.FlagHours(hours))
	hours.Values = []string{"true", "false"}
	note(tx.FlagHours(hours))
	note(tx.Usage("o", "events", time.Unix(0, 0)))
	note(tx.CountMembers(1, 7))
	note(tx.Members(1, 7, "", 10))
	note(tx.MembersAmong(1, 7, []string{"a", "b", "c"}))
	for _, q := range []management.Query{
		{Kind: "k", Parent: "p", Limit: 10}, {Kind: "k", Parent: "p", Hidden: true, Descending: true, Limit: 10},
		{Kind: "k", Other: "o", Limit: 10, Offset: 5}, {Kind: "k", Other: "o", Descending: true},
		{Kind: "k", Parent: "p", From: "a", To: "b", Limit: 10}, {Kind: "k", Other: "o", From: "a", Descending: true},
		{Kind: "k", Parent: "p", Match: func(*management.Record) bool { return true }, Descending: true},
	} {
		_, _, e := tx.List(q)
		note(nil, e)
	}
	for _, q := range []featureflags.DefinitionQuery{
		{Kind: featureflags.FlagDefinition, Project: 1, Limit: 10}, {Kind: featureflags.CohortDefinition, Project: 1, Limit: 10, Deleted: true},
		{Kind: featureflags.FlagDefinition, Project: 1, Match: func(*featureflags.Definition) bool { return true }},
	} {
		_, _, e := tx.Definitions(q)
		note(nil, e)
	}
	note(nil, tx.DropDefinition(featureflags.FlagDefinition, 1, 9))
	note(nil, tx.RemoveMembers(1, 7, []string{"a"}))
	note(nil, tx.DeleteKey("k"))
	note(nil, tx.DeleteUnder("k", "p"))
	return err
}

package httpapi_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/adapters/internal/passkeys"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The ids of an office.
const (
	officeOrg     = "0191f0a2-5b1c-7d3e-8f40-00000000000a"
	officeOther   = "0191f0a2-5b1c-7d3e-8f40-00000000000b"
	officeUserID  = "0191f0a2-5b1c-7d3e-8f40-0000000000%02d"
	officeMembers = "0191f0a2-5b1c-7d3e-8f40-0000000001%02d"
)

var officeUsers = []struct {
	name  string
	org   string
	level management.Level
}{
	{"owner", officeOrg, management.Owner},
	{"admin", officeOrg, management.Admin},
	{"member", officeOrg, management.Member},
	{"foreign", officeOther, management.Owner},
}

// office is a server for the management API with users, with the setup of cmd/bunting and a clock
// that only a step changes.
type office struct {
	*httptest.Server
	config  httpapi.Config
	handler *httpapi.Handler // of the server that was started last
	// streaming is notified of changes of definitions, if not nil.
	streaming atomic.Pointer[httpapi.Handler]
	store     *sqlstore.Store
	recorder  *capture.Recorder
	service   *rooms.Rooms
	clock     atomic.Int64 // microseconds since 1970
	dns       officeDNS
	folder    string // of exports to files
	vars      map[string]string
	keys      map[string]string // by holder, see key
}

// officeStart is the initial time of an office's clock.
var officeStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func (o *office) now() time.Time { return time.UnixMicro(o.clock.Load()).UTC() }

// newOffice returns an office with a database: organization A with an owner, an admin, a member and
// the projects 1 and 2; organization B with an owner and project 3.
func newOffice(t testing.TB, database string) *office {
	t.Helper()
	return newOfficeOn(t, database, sqlstore.Config{}, func(s *sqlstore.Store) (rooms.Store, capture.Ledger) { return s.Management(), s })
}

// newOfficeOn is newOffice with further settings of the store, and with other stores of objects and events,
// which on returns.
func newOfficeOn(t testing.TB, database string, settings sqlstore.Config, on func(*sqlstore.Store) (rooms.Store, capture.Ledger)) *office {
	t.Helper()
	ctx := context.Background()
	o := &office{folder: t.TempDir(), keys: map[string]string{}, vars: map[string]string{"org": officeOrg, "other_org": officeOther}}
	o.clock.Store(officeStart.UnixMicro())
	var deciding atomic.Pointer[serving.Decider] // the store reports changes before the Decider exists
	settings.Now, settings.Changed = o.now, func(id int64) {
		if d := deciding.Load(); d != nil {
			d.Renew(id)
		}
		if h := o.streaming.Load(); h != nil {
			h.DefinitionsChanged(id)
		}
	}
	var err error
	o.store, err = sqlstore.Open(ctx, pgtest.SQLiteMigrated(t, database, sqlstore.Open), settings)
	if err != nil {
		t.Fatal(err)
	}
	managed, ledger := on(o.store)
	config := rooms.Config{
		Authenticators: passkeys.Authenticators{},
		Store:          managed, Now: o.now, SiteURL: "https://flags.example.com", Resolver: &o.dns,
		People: o.store.Management(),
		RunQuery: func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return o.handler.RunQuery(ctx, p, query)
		},
		Measure: func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			return o.handler.Measure(ctx, p, query)
		},
	}
	o.configure(&config)
	if o.service, err = rooms.Open(config); err != nil {
		t.Fatal(err)
	}
	o.furnish(t)
	o.recorder = capture.NewRecorder(capture.RecorderConfig{Ledger: ledger, OnFailure: func(err error) {
		if !errors.Is(err, errDiskFull) {
			t.Error("a commit failed:", err)
		}
	}})
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: o.store.CaptureKeys(), Appender: o.recorder, Usage: o.store, Now: o.now})
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: o.store, People: o.store, Continuity: o.store, Members: o.store, Usage: o.store, Now: o.now})
	if err != nil {
		t.Fatal(err)
	}
	deciding.Store(decider)
	runner, err := queries.New(queries.Config{Source: o.store, States: o.store, NewID: rand.Text, Now: o.now, Limits: queries.Limits{Workers: 2}, Definitions: func(ctx context.Context, id int64) (*flags.Definitions, error) {
		d, err := o.store.Definitions(ctx, flags.Project{ID: id})
		return &d, err
	}, Actions: func(ctx context.Context, id int64) (map[int64]port.Action, error) {
		out := map[int64]port.Action{}
		err := o.service.Dashboards.Actions.Each(ctx, id, func(action int64, name string, steps json.RawMessage) {
			out[action] = port.Action{Name: name, Steps: steps}
		})
		return out, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	o.config = httpapi.Config{Queries: runner, Decider: decider, Intake: intake, History: o.store, People: &capture.People{History: o.store, Transactor: o.recorder, Intake: intake}, Management: o.service, Keys: officeKeys{o.store}, SignIn: &httpapi.SignIn{Version: "test"}}
	t.Cleanup(func() {
		runner.Close()
		o.recorder.Close()
		if err := o.store.Close(); err != nil {
			t.Error(err)
		}
		// A test keeps its parallel subtests, and these what their cleanups refer to.
		o.config, o.handler, o.store, o.recorder, o.service, runner = httpapi.Config{}, nil, nil, nil, nil, nil
	})
	o.Server = o.serve(t, func(*httpapi.Config) {})
	return o
}

// serve starts another server with the same store.
func (o *office) serve(t testing.TB, change func(*httpapi.Config)) *httptest.Server {
	t.Helper()
	config := o.config
	change(&config)
	h, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	o.handler = h
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		s.Config.Handler = nil // see newOfficeOn
	})
	return s
}

// configure sets the services that the tests of single resources need.
func (o *office) configure(c *rooms.Config) {
	c.Events = o.store.Management()
	c.People = o.store.Management()
	c.ExportRows, c.ExportRunner = o.store.Exports(), exports.New(exports.Config{Folder: o.folder})
}

// furnish stores the users, organizations and projects.
func (o *office) furnish(t testing.TB) {
	t.Helper()
	store := o.store.Management()
	err := store.Write(context.Background(), func(tx rooms.Tx) error {
		for i, id := range []string{officeOrg, officeOther} {
			org := management.OrganizationRecord{ID: id, Name: "Organization " + string(rune('A'+i)), CreatedAt: officeStart}
			if err := tx.PutOrganization(&org); err != nil {
				return err
			}
		}
		for id, org := range []string{"", officeOrg, officeOrg, officeOther} {
			if org == "" {
				continue
			}
			p := management.ProjectRecord{ID: int64(id), Organization: org, Name: fmt.Sprint("Project ", id), APIKey: fmt.Sprint("phc_", id), CreatedAt: officeStart}
			if err := tx.PutProject(&p); err != nil {
				return err
			}
		}
		for i, u := range officeUsers {
			number, err := tx.Next("user")
			if err != nil {
				return err
			}
			verified := true
			user := management.User{
				ID: number, UUID: fmt.Sprintf(officeUserID, i), DistinctID: u.name + "-distinct", FirstName: strings.ToUpper(u.name[:1]) + u.name[1:],
				Email: u.name + "@example.com", EmailVerified: &verified, Joined: management.NewStamp(officeStart),
			}
			data, _ := json.Marshal(user)
			if err := tx.Put(&management.Record{Kind: "user", ID: user.UUID, Sort: fmt.Sprintf("%020d", number), Unique: user.Email, Data: data}); err != nil {
				return err
			}
			o.vars[u.name], o.vars[u.name+"_id"] = user.UUID, fmt.Sprint(number)
			joined := officeStart.Add(time.Duration(i) * time.Hour)
			m := management.Membership{
				ID: fmt.Sprintf(officeMembers, i), Organization: u.org, User: user.UUID, Level: u.level, Joined: management.NewStamp(joined), Updated: management.NewStamp(joined),
			}
			data, _ = json.Marshal(m)
			if err := tx.Put(&management.Record{Kind: "member", Parent: u.org, ID: user.UUID, Other: user.UUID, Sort: fmt.Sprintf("%020d", joined.UnixMicro()), Data: data}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// key returns a key for a holder, such as
//
//	owner                                    all scopes
//	member dashboard:read organization:read  those
//	owner projects=1,2 organizations=...     all scopes, restricted to these
func (o *office) key(t testing.TB, holder string) string {
	t.Helper()
	if key, ok := o.keys[holder]; ok {
		return key
	}
	words := strings.Fields(holder)
	number := int64(0)
	for i, u := range officeUsers {
		if u.name == words[0] {
			number = int64(i + 1)
		}
	}
	if number == 0 {
		t.Fatalf("nobody here is called %q", words[0])
	}
	key := fmt.Sprintf("phx_%s_%012d", words[0], len(o.keys))
	k := management.KeyRecord{ID: fmt.Sprint("key", len(o.keys)), Hash: management.HashKey(key), Mask: management.MaskKey(key), Label: holder, User: number, CreatedAt: officeStart}
	for _, word := range words[1:] {
		if list, ok := strings.CutPrefix(word, "projects="); ok {
			if err := json.Unmarshal([]byte("["+list+"]"), &k.Projects); err != nil {
				t.Fatal(err)
			}
		} else if list, ok := strings.CutPrefix(word, "organizations="); ok {
			k.Organizations = strings.Split(list, ",")
		} else {
			k.Scopes = append(k.Scopes, word)
		}
	}
	if k.Scopes == nil {
		k.Scopes = []string{"*"}
	}
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error { return tx.PutKey(&k) })
	if err != nil {
		t.Fatal(err)
	}
	o.keys[holder] = key
	return key
}

// officeDNS returns the TXT records that the steps of a case set.
type officeDNS struct {
	mu    sync.Mutex
	hosts map[string][]string
}

func (d *officeDNS) TXT(_ context.Context, host string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hosts[host], nil
}

// walkPath replaces the parameters of a path: organizations and projects with those of an office,
// other ids with one that does not exist.
func walkPath(path, id string) string {
	var out []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "{project}":
			part = "1"
		case part == "{organization}":
			part = officeOrg
		case strings.HasPrefix(part, "{"):
			part = url.PathEscape(id)
		}
		out = append(out, part)
	}
	return strings.Join(out, "/")
}

const unknownUUID = "0191f0a2-5b1c-7d3e-8f40-00000000ffff"

// ask sends a step and returns the status and body.
func (o *office) ask(t *testing.T, s manageStep) (int, []byte) {
	t.Helper()
	status, _, body := o.send(t, &s)
	return status, body
}

var allValues = flag.Bool("long", false, "try every value on every route, instead of a seventh of them")

// sample selects every seventh value, and all values with -long. The numbers of values tried on
// each route are not multiples of seven, so that each route gets a different selection.
type sample struct{ n int }

func (s *sample) has() bool {
	s.n++
	return *allValues || s.n%7 == 0
}

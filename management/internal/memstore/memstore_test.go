package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestStore_Contract(t *testing.T) {
	storetest.Management(t, func(testing.TB) storetest.ManagementStore { return source{New(ExternalData{})} })
}

// source is the store as a serving.Source, as /flags would use it.
type source struct{ *Store }

func (s source) ProjectByKey(ctx context.Context, apiKey string) (out flags.Project, err error) {
	err = s.Read(ctx, func(t rooms.Tx) error {
		p, err := t.ProjectByKey(apiKey)
		if err == nil && p == nil {
			err = flags.ErrUnknownKey
		}
		if err == nil {
			out = flags.Project{ID: p.ID, APIKey: apiKey, Revision: t.(*tx).revisions[p.ID], Browser: string(p.Browser)}
		}
		return err
	})
	return out, err
}

func (s source) Definitions(ctx context.Context, p flags.Project) (out flags.Definitions, err error) {
	err = s.Read(ctx, func(t rooms.Tx) error {
		file := struct {
			Flags   []json.RawMessage          `json:"flags"`
			Cohorts map[string]json.RawMessage `json:"cohorts"`
		}{[]json.RawMessage{}, map[string]json.RawMessage{}}
		list, _, err1 := t.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: p.ID})
		for _, d := range list {
			file.Flags = append(file.Flags, d.Record)
		}
		cohorts, _, err2 := t.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: p.ID})
		for _, d := range cohorts {
			file.Cohorts[strconv.FormatInt(d.ID, 10)] = d.Record
		}
		text, err3 := json.Marshal(file)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		out, err = flags.ParseDefinitions(text)
		return err
	})
	return out, err
}

// The store shares no memory with its callers.
func TestStore_KeepsCopies(t *testing.T) {
	s := New(ExternalData{})
	five := int64(5)
	r := management.Record{Kind: "thing", ID: "1", Data: []byte(`{"a":1}`)}
	o := management.OrganizationRecord{ID: "o", Quotas: map[string]*int64{"events": &five}, Meta: []byte(`{"a":1}`)}
	p := management.ProjectRecord{ID: 1, APIKey: "phc", Paused: []string{"events"}, Settings: map[string]json.RawMessage{"timezone": []byte(`"UTC"`)}, Browser: []byte(`{"a":1}`)}
	k := management.KeyRecord{ID: "k", Hash: "h", Scopes: []string{"*"}, Projects: []int64{1}, Organizations: []string{"o"}}
	d := management.Definition{ID: 1, Key: "f", Record: []byte(`{"a":1}`), Meta: []byte(`{"a":1}`)}
	spoil := func(r *management.Record, o *management.OrganizationRecord, p *management.ProjectRecord, k *management.KeyRecord, d *management.Definition) {
		for _, raw := range []json.RawMessage{r.Data, o.Meta, p.Settings["timezone"], p.Browser, d.Record, d.Meta} {
			raw[1] = 'X'
		}
		*o.Quotas["events"], p.Paused[0], k.Scopes[0], k.Projects[0], k.Organizations[0] = 6, "X", "X", 9, "X"
	}
	err := s.Write(t.Context(), func(tx rooms.Tx) error {
		err := errors.Join(tx.Put(&r), tx.PutOrganization(&o), tx.PutProject(&p), tx.PutKey(&k), tx.PutDefinition(management.FlagDefinition, 1, &d))
		spoil(&r, &o, &p, &k, &d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Read(t.Context(), func(tx rooms.Tx) error {
			r, err1 := tx.Get("thing", "", "1")
			o, err2 := tx.Organization("o")
			p, err3 := tx.Project(1)
			k, err4 := tx.Key("h")
			d, err5 := tx.Definition(management.FlagDefinition, 1, 1)
			got := fmt.Sprintf("%s %s %d %s %s %s %v %d %v %s %s", r.Data, o.Meta, *o.Quotas["events"], p.Paused, p.Settings["timezone"], p.Browser, k.Scopes, k.Projects, k.Organizations, d.Record, d.Meta)
			if want := `{"a":1} {"a":1} 5 [events] "UTC" {"a":1} [*] [1] [o] {"a":1} {"a":1}`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			spoil(r, o, p, k, d)
			return errors.Join(err1, err2, err3, err4, err5)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A reader does not see writes that are committed after it began.
func TestStore_ReadsOneState(t *testing.T) {
	s := New(ExternalData{})
	err := s.Read(t.Context(), func(reading rooms.Tx) error {
		err := s.Write(t.Context(), func(tx rooms.Tx) error { return tx.Put(&management.Record{Kind: "thing", ID: "1"}) })
		if r, _ := reading.Get("thing", "", "1"); r != nil {
			t.Error("a reader sees what was written after it began")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStore_ExternalData(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	s := New(ExternalData{
		GroupTypes: map[int64]map[int]string{1: {0: "company"}},
		Persons:    map[int64][][]string{1: {{"ann", "ann2"}, {"bob"}}},
		FlagCalls:  map[Flag][]management.FlagCall{{1, "f"}: {{Value: "true", Calls: 3}}},
		KeyUsage:   []organizations.KeyUsage{{Day: day, Project: 1, N: 1}, {Day: day.AddDate(0, 0, -1), Project: 1, N: 2}, {Day: day, Project: 2, N: 4}},
		Usage:      map[Resource][]organizations.DayUsage{{"o", "events"}: {{Day: day, N: 7}, {Day: day.AddDate(0, 0, -1), N: 8}}},
	})
	err := s.Write(t.Context(), func(tx rooms.Tx) error {
		return errors.Join(tx.AddMembers(1, 5, []string{"ann", "ann2", "ghost"}), tx.AddMembers(1, 6, []string{"bob"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Read(t.Context(), func(tx rooms.Tx) error {
		types, err1 := tx.GroupTypes(1)
		calls, err2 := tx.FlagCalls(1, "f")
		keyUsage, err3 := tx.KeyUsage(1, day.Add(time.Hour))
		used, err4 := tx.Usage("o", "events", day.Add(time.Hour))
		n, err5 := tx.CountMembers(1, 5)
		same, err6 := tx.SamePersons(1, []string{"ann2", "ghost"})
		among, err7 := tx.FilterMembers(1, 5, []string{"ghost", "bob", "ann"})
		members, err8 := tx.MembersOf(1, []int64{5, 6}, flags.MembersLimit{IDs: 3, Bytes: 100})
		got := fmt.Sprint(types, len(calls), len(keyUsage), len(used), n, same, among)
		if diff := cmp.Diff("map[0:company] 1 1 1 2 [ann ann2 ghost] [ann ghost]", got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[int64][]string{6: {"bob"}}, members); diff != "" {
			t.Error(diff)
		}
		return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A Faulty store fails at the selected call only, and that transaction is rolled back.
func TestFaulty(t *testing.T) {
	f := &Faulty{Store: New(ExternalData{}), After: 1}
	work := func(tx rooms.Tx) error {
		return errors.Join(tx.Put(&management.Record{Kind: "thing", ID: "1"}), tx.Put(&management.Record{Kind: "thing", ID: "2"}))
	}
	if err := f.Write(t.Context(), work); !errors.Is(err, ErrDisk) || !f.Failed {
		t.Errorf("the second call: %v, failed %v", err, f.Failed)
	}
	for _, want := range []int{0, 2} {
		err := f.Read(t.Context(), func(tx rooms.Tx) error {
			_, n, err := tx.List(management.Query{Kind: "thing"})
			if n != want {
				t.Errorf("%d are there, want %d", n, want)
			}
			return err
		})
		if err = errors.Join(err, f.Write(t.Context(), work)); err != nil {
			t.Fatal(err)
		}
	}
}

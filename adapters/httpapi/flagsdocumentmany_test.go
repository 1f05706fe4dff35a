package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// countingStore counts the single-record calls of a store.
type countingStore struct {
	rooms.Store
	calls map[string]int
}

func (s *countingStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	return s.Store.Write(ctx, func(tx rooms.Tx) error { return work(&countingTx{tx, s.calls}) })
}

type countingTx struct {
	rooms.Tx
	calls map[string]int
}

func (t *countingTx) Put(r *management.Record) error { t.calls["Put"]++; return t.Tx.Put(r) }

func (t *countingTx) Get(kind, parent, id string) (*management.Record, error) {
	t.calls["Get"]++
	return t.Tx.Get(kind, parent, id)
}

func (t *countingTx) List(q management.Query) ([]management.Record, int, error) {
	t.calls["List"]++
	return t.Tx.List(q)
}

func (t *countingTx) Next(name string) (int64, error) { t.calls["Next"]++; return t.Tx.Next(name) }

func (t *countingTx) Definition(kind management.DefinitionKind, project, id int64) (*management.Definition, error) {
	t.calls["Definition"]++
	return t.Tx.Definition(kind, project, id)
}

func (t *countingTx) DefinitionByKey(kind management.DefinitionKind, project int64, key string) (*management.Definition, error) {
	t.calls["DefinitionByKey"]++
	return t.Tx.DefinitionByKey(kind, project, key)
}

func (t *countingTx) Definitions(q management.DefinitionQuery) ([]management.Definition, int, error) {
	t.calls["Definitions"]++
	return t.Tx.Definitions(q)
}

func (t *countingTx) PutDefinition(kind management.DefinitionKind, project int64, d *management.Definition) error {
	t.calls["PutDefinition"]++
	return t.Tx.PutDefinition(kind, project, d)
}

func (t *countingTx) GroupTypes(project int64) (map[int]string, error) {
	t.calls["GroupTypes"]++
	return t.Tx.GroupTypes(project)
}

// A document with many flags and cohorts causes as many store calls as one with few: no record is
// read or written individually.
func TestFlagsDocument_Many(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	countCalls := func(project int64, many int) map[string]int {
		store := &countingStore{o.store.Management(), map[string]int{}}
		service, err := rooms.Open(rooms.Config{Store: store, Now: o.now})
		if err != nil {
			t.Fatal(err)
		}
		var record *management.ProjectRecord
		if err := store.Read(context.Background(), func(tx rooms.Tx) (err error) { record, err = tx.Project(project); return err }); err != nil {
			t.Fatal(err)
		}
		scope := &management.Scope{Caller: &management.Caller{User: &management.User{ID: 1}}, Project: record}
		for round, share := range []int{10, 20} {
			result, err := service.FeatureFlags.Apply(context.Background(), scope, documentOf(many, share), true)
			if err != nil || len(result.Changes) != many*(2-round) {
				t.Fatalf("round %d: %v, %v", round, result, err)
			}
		}
		return store.calls
	}
	few, many := countCalls(1, 20), countCalls(2, 400)
	if diff := cmp.Diff(few, many); diff != "" {
		t.Errorf("calls for 20 and for 400 flags (-20 +400):\n%s", diff)
	}
}

// documentOf returns a document of n flags with the cohorts and flags that they depend on.
func documentOf(n, share int) management.Body {
	var flags, cohorts []any
	for i := range n {
		property := map[string]any{"type": "cohort", "key": "name", "operator": "in", "value": fmt.Sprint("c", i)}
		if i%2 == 1 {
			property = map[string]any{"type": "flag", "key": fmt.Sprint("f", i-1), "operator": "flag_evaluates_to", "value": true}
		}
		flags = append(flags, map[string]any{"key": fmt.Sprint("f", i), "active": true, "filters": map[string]any{
			"groups": []any{map[string]any{"properties": []any{property}, "rollout_percentage": share}},
		}})
		leaf := map[string]any{"type": "person", "key": "plan", "operator": "exact", "value": fmt.Sprint("p", i)}
		cohorts = append(cohorts, map[string]any{"name": fmt.Sprint("c", i), "filters": map[string]any{"properties": map[string]any{"type": "AND", "values": []any{leaf}}}})
	}
	f, _ := json.Marshal(flags)
	c, _ := json.Marshal(cohorts)
	return management.Body{Members: map[string]json.RawMessage{"flags": f, "cohorts": c}}
}

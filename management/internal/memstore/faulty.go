package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// ErrDisk is the error that a Faulty store injects.
var ErrDisk = errors.New("memstore: the disk has failed")

// Faulty is a store in which one call fails. It must not be used concurrently.
type Faulty struct {
	rooms.Store
	// After is the number of calls to transactions that succeed before the one that fails; if it is
	// negative, no call fails. Failed reports whether the failure has happened.
	After  int
	Failed bool
}

// Read implements rooms.Store.
func (f *Faulty) Read(ctx context.Context, work func(rooms.Tx) error) error {
	return f.Store.Read(ctx, func(t rooms.Tx) error { return work(faultyTx{t, f}) })
}

// Write implements rooms.Store.
func (f *Faulty) Write(ctx context.Context, work func(rooms.Tx) error) error {
	return f.Store.Write(ctx, func(t rooms.Tx) error { return work(faultyTx{t, f}) })
}

// faultyTx counts the calls of a transaction for Faulty. It wraps each method of rooms.Tx that the
// management packages use in tests with failures; the other methods never fail.
type faultyTx struct {
	rooms.Tx
	faulty *Faulty
}

// inject runs call, or returns ErrDisk if it is the call that fails.
func (t faultyTx) inject(call func() error) error {
	if t.faulty.After == 0 {
		t.faulty.After, t.faulty.Failed = -1, true
		return ErrDisk
	}
	t.faulty.After--
	return call()
}

// injectResult is inject for a call with a result.
func injectResult[T any](t faultyTx, call func() (T, error)) (out T, err error) {
	return out, t.inject(func() (err error) { out, err = call(); return err })
}

func (t faultyTx) Get(kind, parent, id string) (*management.Record, error) {
	return injectResult(t, func() (*management.Record, error) { return t.Tx.Get(kind, parent, id) })
}

func (t faultyTx) Find(kind, unique string) (*management.Record, error) {
	return injectResult(t, func() (*management.Record, error) { return t.Tx.Find(kind, unique) })
}

func (t faultyTx) List(q management.Query) (page []management.Record, n int, err error) {
	err = t.inject(func() (err error) { page, n, err = t.Tx.List(q); return err })
	return page, n, err
}

func (t faultyTx) Put(r *management.Record) error {
	return t.inject(func() error { return t.Tx.Put(r) })
}

func (t faultyTx) AddRecords(list []*management.Record) error {
	return t.inject(func() error { return t.Tx.AddRecords(list) })
}

func (t faultyTx) Delete(kind, parent, id string) error {
	return t.inject(func() error { return t.Tx.Delete(kind, parent, id) })
}

func (t faultyTx) DeleteUnder(kind, parent string) error {
	return t.inject(func() error { return t.Tx.DeleteUnder(kind, parent) })
}

func (t faultyTx) Next(name string) (int64, error) {
	return injectResult(t, func() (int64, error) { return t.Tx.Next(name) })
}

func (t faultyTx) Now() (time.Time, error) {
	return injectResult(t, t.Tx.Now)
}

func (t faultyTx) NextMany(name string, n int64) (int64, error) {
	return injectResult(t, func() (int64, error) { return t.Tx.NextMany(name, n) })
}

func (t faultyTx) Organization(id string) (*management.OrganizationRecord, error) {
	return injectResult(t, func() (*management.OrganizationRecord, error) { return t.Tx.Organization(id) })
}

func (t faultyTx) Organizations() ([]management.OrganizationRecord, error) {
	return injectResult(t, t.Tx.Organizations)
}

func (t faultyTx) PutOrganization(o *management.OrganizationRecord) error {
	return t.inject(func() error { return t.Tx.PutOrganization(o) })
}

func (t faultyTx) DeleteOrganization(id string) error {
	return t.inject(func() error { return t.Tx.DeleteOrganization(id) })
}

func (t faultyTx) Project(id int64) (*management.ProjectRecord, error) {
	return injectResult(t, func() (*management.ProjectRecord, error) { return t.Tx.Project(id) })
}

func (t faultyTx) ProjectByKey(key string) (*management.ProjectRecord, error) {
	return injectResult(t, func() (*management.ProjectRecord, error) { return t.Tx.ProjectByKey(key) })
}

func (t faultyTx) Projects(organization string) ([]management.ProjectRecord, error) {
	return injectResult(t, func() ([]management.ProjectRecord, error) { return t.Tx.Projects(organization) })
}

func (t faultyTx) PutProject(p *management.ProjectRecord) error {
	return t.inject(func() error { return t.Tx.PutProject(p) })
}

func (t faultyTx) Key(hash string) (*management.KeyRecord, error) {
	return injectResult(t, func() (*management.KeyRecord, error) { return t.Tx.Key(hash) })
}

func (t faultyTx) KeyByID(id string) (*management.KeyRecord, error) {
	return injectResult(t, func() (*management.KeyRecord, error) { return t.Tx.KeyByID(id) })
}

func (t faultyTx) Keys(user int64) ([]management.KeyRecord, error) {
	return injectResult(t, func() ([]management.KeyRecord, error) { return t.Tx.Keys(user) })
}

func (t faultyTx) SecretKeys(project int64) ([]management.KeyRecord, error) {
	return injectResult(t, func() ([]management.KeyRecord, error) { return t.Tx.SecretKeys(project) })
}

func (t faultyTx) PutKey(k *management.KeyRecord) error {
	return t.inject(func() error { return t.Tx.PutKey(k) })
}

func (t faultyTx) DeleteKey(id string) error {
	return t.inject(func() error { return t.Tx.DeleteKey(id) })
}

func (t faultyTx) Definition(kind management.DefinitionKind, project, id int64) (*management.Definition, error) {
	return injectResult(t, func() (*management.Definition, error) { return t.Tx.Definition(kind, project, id) })
}

func (t faultyTx) DefinitionByKey(kind management.DefinitionKind, project int64, key string) (*management.Definition, error) {
	return injectResult(t, func() (*management.Definition, error) { return t.Tx.DefinitionByKey(kind, project, key) })
}

func (t faultyTx) Definitions(q management.DefinitionQuery) (page []management.Definition, n int, err error) {
	err = t.inject(func() (err error) { page, n, err = t.Tx.Definitions(q); return err })
	return page, n, err
}

func (t faultyTx) PutDefinition(kind management.DefinitionKind, project int64, d *management.Definition) error {
	return t.inject(func() error { return t.Tx.PutDefinition(kind, project, d) })
}

func (t faultyTx) PutDefinitions(kind management.DefinitionKind, project int64, list []*management.Definition) error {
	return t.inject(func() error { return t.Tx.PutDefinitions(kind, project, list) })
}

func (t faultyTx) ReserveDefinitionIDs(kind management.DefinitionKind, n int) (int64, error) {
	return injectResult(t, func() (int64, error) { return t.Tx.ReserveDefinitionIDs(kind, n) })
}

func (t faultyTx) DefinitionTotals(project int64) (management.DefinitionTotals, error) {
	return injectResult(t, func() (management.DefinitionTotals, error) { return t.Tx.DefinitionTotals(project) })
}

func (t faultyTx) DeleteDefinition(kind management.DefinitionKind, project, id int64) error {
	return t.inject(func() error { return t.Tx.DeleteDefinition(kind, project, id) })
}

func (t faultyTx) AddMembers(project, cohort int64, ids []string) error {
	return t.inject(func() error { return t.Tx.AddMembers(project, cohort, ids) })
}

func (t faultyTx) RemoveMembers(project, cohort int64, ids []string) error {
	return t.inject(func() error { return t.Tx.RemoveMembers(project, cohort, ids) })
}

func (t faultyTx) Members(project, cohort int64, after string, limit int) ([]string, error) {
	return injectResult(t, func() ([]string, error) { return t.Tx.Members(project, cohort, after, limit) })
}

func (t faultyTx) MembersOf(project int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	return injectResult(t, func() (map[int64][]string, error) { return t.Tx.MembersOf(project, cohorts, limit) })
}

func (t faultyTx) SamePersons(project int64, ids []string) ([]string, error) {
	return injectResult(t, func() ([]string, error) { return t.Tx.SamePersons(project, ids) })
}

func (t faultyTx) FilterMembers(project, cohort int64, ids []string) ([]string, error) {
	return injectResult(t, func() ([]string, error) { return t.Tx.FilterMembers(project, cohort, ids) })
}

func (t faultyTx) CountMembers(project, cohort int64) (int, error) {
	return injectResult(t, func() (int, error) { return t.Tx.CountMembers(project, cohort) })
}

func (t faultyTx) GroupTypes(project int64) (map[int]string, error) {
	return injectResult(t, func() (map[int]string, error) { return t.Tx.GroupTypes(project) })
}

func (t faultyTx) FlagCalls(project int64, key string) ([]management.FlagCall, error) {
	return injectResult(t, func() ([]management.FlagCall, error) { return t.Tx.FlagCalls(project, key) })
}

func (t faultyTx) LastCalls(project int64) (map[string]time.Time, error) {
	return injectResult(t, func() (map[string]time.Time, error) { return t.Tx.LastCalls(project) })
}

func (t faultyTx) UnseenEvents(project int64, names []string) ([]string, error) {
	return injectResult(t, func() ([]string, error) { return t.Tx.UnseenEvents(project, names) })
}

func (t faultyTx) FlagTotals(q management.HoursQuery) (map[string]int64, error) {
	return injectResult(t, func() (map[string]int64, error) { return t.Tx.FlagTotals(q) })
}

func (t faultyTx) FlagHours(q management.HoursQuery) ([]management.FlagHour, error) {
	return injectResult(t, func() ([]management.FlagHour, error) { return t.Tx.FlagHours(q) })
}

func (t faultyTx) KeyUsage(project int64, since time.Time) ([]organizations.KeyUsage, error) {
	return injectResult(t, func() ([]organizations.KeyUsage, error) { return t.Tx.KeyUsage(project, since) })
}

func (t faultyTx) Usage(organization, resource string, since time.Time) ([]organizations.DayUsage, error) {
	return injectResult(t, func() ([]organizations.DayUsage, error) { return t.Tx.Usage(organization, resource, since) })
}

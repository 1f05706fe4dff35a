package httpapi_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// personUUID returns the uuid of §9.2, computed independently of the product.
func personUUID(project int64, distinctID string) string {
	namespace, _ := hex.DecodeString("932979b465c3442484670b66ec27bc22")
	sum := sha1.Sum(fmt.Appendf(namespace, "%d:%s", project, distinctID))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// finder collects differences between expected and stored data.
type finder struct {
	lab     *lab
	project int64
	found   []string
}

func (f *finder) errorf(format string, args ...any) {
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

func (f *finder) failed(err error) bool {
	if err != nil {
		f.errorf("reading back: %v", err)
	}
	return err != nil
}

func (f *finder) same(what string, want, got any) {
	if diff := cmp.Diff(want, got); diff != "" {
		f.errorf("%s (-want +got)\n%s", what, diff)
	}
}

// parsed decodes a JSON text, with numbers as json.Number.
func (f *finder) parsed(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		f.errorf("no JSON: %v: %s", err, text)
	}
	return v
}

func (f *finder) object(text string) map[string]any {
	o, ok := f.parsed(text).(map[string]any)
	if !ok {
		f.errorf("no object: %s", text)
	}
	return o
}

// differences compares all stored data, read through capture.History.
func (l *lab) differences(want *labState) []string {
	f := &finder{lab: l, project: want.Project}
	if f.project == 0 {
		f.project = 1
	}
	ctx := context.Background()
	events, err := l.store.Ledger(ctx, f.project, 0, 5000)
	if f.failed(err) {
		return f.found
	}
	f.events(want.Events, events)
	if want.Persons != nil {
		f.persons(want.Persons)
	}
	if want.Groups != nil || want.GroupTypes != nil {
		f.groups(want)
	}
	f.warnings(want)
	if want.FlagCalls != nil {
		f.calls(want.FlagCalls)
	}
	for _, other := range []int64{1, 2, 3, 4, 7} {
		if other == f.project {
			continue
		}
		events, err := l.store.Ledger(ctx, other, 0, 1)
		people, err2 := l.store.CountPeople(ctx, other)
		warnings, err3 := l.store.Warnings(ctx, other, 1, 0)
		if f.failed(err) || f.failed(err2) || f.failed(err3) || len(events)+len(warnings)+int(people) > 0 {
			f.errorf("project %d has %d events, %d warnings, %d persons", other, len(events), len(warnings), people)
		}
	}
	return f.found
}

func (f *finder) events(want []labEvent, got []capture.Record) {
	if len(got) != len(want) {
		f.errorf("%d events are stored, want %d: %s", len(got), len(want), named(got))
		return
	}
	for i := range want {
		f.event(fmt.Sprintf("event %d, %s", i, got[i].Name), &want[i], &got[i])
	}
}

func named(events []capture.Record) string {
	var names []string
	for _, e := range events[:min(len(events), 20)] {
		names = append(names, e.Name+" of "+e.DistinctID)
	}
	return strings.Join(names, ", ")
}

func (f *finder) event(path string, want *labEvent, got *capture.Record) {
	if got.Name != want.Event || got.DistinctID != want.DistinctID {
		f.errorf("%s is %q of %q, want %q of %q", path, got.Name, got.DistinctID, want.Event, want.DistinctID)
	}
	if want.UUID != "" && got.UUID.String() != want.UUID {
		f.errorf("%s has uuid %s, want %s", path, got.UUID, want.UUID)
	}
	if want.Timestamp != nil && !got.Timestamp.Equal(*want.Timestamp) {
		f.errorf("%s is of %s, want %s", path, got.Timestamp, want.Timestamp)
	}
	if want.Elements != "" && got.ElementsChain != want.Elements {
		f.errorf("%s has the elements %q, want %q", path, got.ElementsChain, want.Elements)
	}
	if want.Person != "" && got.PersonID.String() != personUUID(f.project, want.Person) {
		f.errorf("%s has person %s, want that of %q, %s", path, got.PersonID, want.Person, personUUID(f.project, want.Person))
	}
	if want.Mode != "" && got.PersonMode.String() != want.Mode {
		f.errorf("%s has mode %s, want %s", path, got.PersonMode, want.Mode)
	}
	if want.Mode == "propertyless" && (!got.PersonCreatedAt.Equal(time.Unix(5, 0)) || got.PersonProperties != "{}") {
		f.errorf("%s has a person of %s with %s (§9.1)", path, got.PersonCreatedAt, got.PersonProperties)
	}
	if want.PersonProperties != nil {
		f.properties(path+": person_properties", want.PersonProperties, got.PersonProperties)
	}
	if want.Historical != nil && got.Historical != *want.Historical {
		f.errorf("%s: historical is %v", path, got.Historical)
	}
	f.members(path, want.Properties, want.Absent, f.object(got.Properties))
}

// members compares some members of an object, and checks that others are absent.
func (f *finder) members(path string, want map[string]json.RawMessage, absent []string, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		v, there := got[name]
		if !there {
			f.errorf("%s has no %s", path, name)
			continue
		}
		f.same(path+": "+name, f.parsed(string(want[name])), v)
	}
	for _, name := range absent {
		if v, there := got[name]; there {
			f.errorf("%s has %s: %v", path, name, v)
		}
	}
}

// creatorProperty is the property with the event that created a person (§9.2).
const creatorProperty = "$creator_event_uuid"

// properties compares all properties of a person.
func (f *finder) properties(path string, want json.RawMessage, got string) {
	expected, has := f.object(string(want)), f.object(got)
	if _, named := expected[creatorProperty]; !named {
		if id, _ := has[creatorProperty].(string); !isUUIDText(id) {
			f.errorf("%s: %s is %v", path, creatorProperty, has[creatorProperty])
		}
		delete(has, creatorProperty)
	}
	f.same(path, expected, has)
}

func isUUIDText(s string) bool {
	_, ok := wire.ParseUUID(s)
	return ok
}

func (f *finder) persons(want []labPerson) {
	got, _, err := f.lab.store.People(context.Background(), f.project, capture.PersonQuery{Limit: 1000})
	if f.failed(err) {
		return
	}
	slices.SortFunc(got, func(a, b capture.StoredPerson) int { return slices.Compare(a.DistinctIDs, b.DistinctIDs) })
	owners := map[string]string{}
	var all []string
	for _, p := range got {
		all = append(all, fmt.Sprint(p.DistinctIDs[:min(len(p.DistinctIDs), 5)]))
		for _, id := range p.DistinctIDs {
			if owners[id] != "" {
				f.errorf("%q belongs to two persons", id)
			}
			owners[id] = p.UUID.String()
		}
	}
	if n, err := f.lab.store.CountPeople(context.Background(), f.project); f.failed(err) || n != int64(len(got)) {
		f.errorf("CountPeople says %d of %d", n, len(got))
	}
	if len(got) != len(want) {
		f.errorf("%d persons are stored, want %d: %s", len(got), len(want), all)
		return
	}
	for i := range want {
		f.person(&want[i], &got[i])
	}
}

func (f *finder) person(want *labPerson, got *capture.StoredPerson) {
	path := fmt.Sprintf("person of %q", want.IDs[0])
	if want.IDCount == 0 {
		f.same(path+": ids", slices.Sorted(slices.Values(want.IDs)), got.DistinctIDs)
	} else if len(got.DistinctIDs) != want.IDCount {
		f.errorf("%s has %d ids, want %d", path, len(got.DistinctIDs), want.IDCount)
	}
	for _, id := range want.IDs {
		if p, err := f.lab.store.PersonForDistinctID(context.Background(), f.project, id); !f.failed(err) && (p == nil || p.UUID != got.UUID) {
			f.errorf("%s: %q is not an id of it", path, id)
		}
	}
	id := want.UUID
	if want.From != "" {
		id = personUUID(f.project, want.From)
	}
	if id != "" && got.UUID.String() != id {
		f.errorf("%s has uuid %s, want %s", path, got.UUID, id)
	}
	if got.Identified != want.Identified {
		f.errorf("%s: is_identified is %v", path, got.Identified)
	}
	if want.Created != nil && !got.CreatedAt.Equal(*want.Created) {
		f.errorf("%s was created at %s, want %s", path, got.CreatedAt, want.Created)
	}
	if want.Version != nil && got.Version != *want.Version {
		f.errorf("%s has version %d, want %d", path, got.Version, *want.Version)
	}
	text := got.Properties.String()
	if want.Properties != nil {
		f.properties(path, want.Properties, text)
	}
	f.members(path, want.Has, want.Absent, f.object(text))
}

func (f *finder) groups(want *labState) {
	ctx := context.Background()
	types, err := f.lab.store.GroupTypes(ctx, f.project)
	if f.failed(err) {
		return
	}
	if want.GroupTypes != nil {
		f.same("group types", want.GroupTypes, append([]string{}, types...))
	}
	if want.Groups == nil {
		return
	}
	stored := map[string]capture.Group{}
	for number, name := range types {
		page, _, err := f.lab.store.Groups(ctx, f.project, number, "", "", 1000)
		if f.failed(err) {
			return
		}
		for _, g := range page {
			stored[name+"/"+g.Key] = g
		}
	}
	for _, w := range want.Groups {
		path := w.Type + "/" + w.Key
		g, there := stored[path]
		if !there {
			f.errorf("group %s is missing", path)
			continue
		}
		delete(stored, path)
		if w.Created != nil && !g.CreatedAt.Equal(*w.Created) {
			f.errorf("group %s was created at %s, want %s", path, g.CreatedAt, w.Created)
		}
		f.same("group "+path, f.object(string(w.Properties)), f.object(g.Properties.String()))
	}
	if len(stored) > 0 {
		f.errorf("there are other groups: %v", slices.Sorted(maps.Keys(stored)))
	}
}

func (f *finder) warnings(want *labState) {
	stored, err := f.lab.store.Warnings(context.Background(), f.project, 1000, 0)
	if f.failed(err) {
		return
	}
	got := map[capture.WarningType]int64{}
	for _, w := range stored {
		got[w.Type] += w.Count
	}
	expected := want.Warnings
	if expected == nil {
		expected = map[capture.WarningType]int64{}
	}
	f.same("warnings", expected, got)

	drops, dropped := want.Dropped, map[capture.DropReason]uint64{}
	counted := f.lab.intake.Stats().Dropped
	for reason, n := range counted {
		if n > 0 {
			dropped[reason] = n
		}
	}
	if drops == nil {
		drops = map[capture.DropReason]uint64{}
		for kind, n := range expected {
			if _, is := counted[capture.DropReason(kind)]; is {
				drops[capture.DropReason(kind)] = uint64(n)
			}
		}
	}
	f.same("dropped events", drops, dropped)
}

func (f *finder) calls(want map[string]int64) {
	stored, err := f.lab.store.FlagCalls(context.Background(), f.project, "", 100)
	if f.failed(err) {
		return
	}
	got := map[string]int64{}
	for _, c := range stored {
		got[c.Flag+"="+c.Value] = c.Calls
	}
	f.same("flag calls", want, got)
}

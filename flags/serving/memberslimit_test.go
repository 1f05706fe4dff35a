package serving_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Payloads contain the members of the static cohorts that fit into the limit, and the largest
// ones are left out first (decision 5). Ids and their bytes are counted over all cohorts.
func TestMembers_Limit(t *testing.T) {
	var m serving.Memory
	m.AddPerson(1, time.Time{}, nil, []int64{10, 30}, "b", "a")
	m.AddPerson(1, time.Time{}, nil, []int64{30, 30, 20}, "long-id")
	m.AddPerson(2, time.Time{}, nil, []int64{10}, "of another project")
	all := map[int64][]string{10: {"a", "b"}, 20: {"long-id"}, 30: {"a", "b", "long-id"}, 40: {}}
	for _, c := range []struct {
		name  string
		limit flags.MembersLimit
		want  []int64
	}{
		{"room for all", flags.MembersLimit{IDs: 6, Bytes: 18}, []int64{10, 20, 30, 40}},
		{"one id too few", flags.MembersLimit{IDs: 5, Bytes: 18}, []int64{10, 20, 40}},
		{"one byte too few", flags.MembersLimit{IDs: 6, Bytes: 17}, []int64{10, 20, 40}},
		{"for the smaller ones", flags.MembersLimit{IDs: 2, Bytes: 18}, []int64{20, 40}},
		{"for none with members", flags.MembersLimit{}, []int64{40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := m.StaticMembers(t.Context(), 1, []int64{10, 20, 30, 40}, c.limit)
			if ids := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(ids, c.want) {
				t.Fatalf("cohorts %v (%v), want %v", ids, err, c.want)
			}
			for id, members := range got {
				if !slices.Equal(members, all[id]) {
					t.Errorf("cohort %d: %q, want %q", id, members, all[id])
				}
			}
		})
	}
}

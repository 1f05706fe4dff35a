package flags

import (
	"cmp"
	"maps"
	"slices"
)

// trim removes all but the smallest cohorts that fit into the limit, and sorts their ids.
func (l MembersLimit) trim(members map[int64][]string) map[int64][]string {
	bySize := slices.SortedFunc(maps.Keys(members), func(a, b int64) int {
		return cmp.Or(cmp.Compare(len(members[a]), len(members[b])), cmp.Compare(a, b))
	})
	ids, bytes := l.IDs, l.Bytes
	for i, cohort := range bySize {
		ids -= len(members[cohort])
		for _, id := range members[cohort] {
			bytes -= len(id)
		}
		if ids < 0 || bytes < 0 {
			for _, dropped := range bySize[i:] {
				delete(members, dropped)
			}
			return members
		}
		slices.Sort(members[cohort])
	}
	return members
}

package featureflags

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// cohortUsers are the numbers of flags that use each of several cohorts, by the id of the cohort.
type cohortUsers struct {
	Results map[string]cohortUse `json:"results"`
}

// cohortUse is the number of flags that use one cohort.
type cohortUse struct {
	Flags int `json:"flags"`
}

// maxUsedCohorts limits the cohorts of one request for their users.
const maxUsedCohorts = 200

// CountCohortUsers returns how many flags use each of the cohorts with the given ids, directly or
// through other cohorts. As in the list, deleted and archived flags and flags that the caller may
// not see do not count. A cohort that does not exist has no users.
func (s Flags) CountCohortUsers(ctx context.Context, scope *management.Scope, ids []int64) (*cohortUsers, error) {
	switch {
	case len(ids) == 0:
		return nil, management.CodedFault(management.CodeRequired, "ids", "This field is required.")
	case len(ids) > maxUsedCohorts:
		return nil, management.Fault("ids", "Give at most %d ids.", maxUsedCohorts)
	}
	return management.Read(ctx, &s.Env, func(tx storeTx) (*cohortUsers, error) {
		all, err := s.selectMatching(tx, scope, &FlagQuery{})
		if err != nil {
			return nil, err
		}
		graph, err := storedcohorts.ReadGraph(tx, scope)
		if err != nil {
			return nil, err
		}
		out := &cohortUsers{Results: make(map[string]cohortUse, len(ids))}
		counts := make(map[int64]int, len(ids))
		for _, f := range all {
			if !mayUseCohort(f.Filters) {
				continue
			}
			reached := graph.Reach(storedcohorts.PartsOf(f.Filters).Cohorts...)
			for id := range reached {
				counts[id]++
			}
		}
		for _, id := range ids {
			out.Results[strconv.FormatInt(id, 10)] = cohortUse{counts[id]}
		}
		return out, nil
	})
}

// mayUseCohort reports whether filters can contain a condition on a cohort. It is a fast check
// that avoids decoding the filters of most flags.
func mayUseCohort(filters []byte) bool { return bytes.Contains(filters, []byte(`"cohort"`)) }

// usesCohort returns a function that reports whether a flag uses the cohort of the query, directly
// or through other cohorts. It is nil if the query has no cohort.
func (q *FlagQuery) usesCohort(tx storeTx, scope *management.Scope) (func(*storedflags.Flag) bool, error) {
	if q.Cohort == nil {
		return nil, nil
	}
	graph, err := storedcohorts.ReadGraph(tx, scope)
	if err != nil {
		return nil, err
	}
	containers := graph.Dependents(*q.Cohort)
	return func(f *storedflags.Flag) bool {
		return mayUseCohort(f.Filters) && slices.ContainsFunc(storedcohorts.PartsOf(f.Filters).Cohorts, func(id int64) bool { return containers[id] })
	}, nil
}

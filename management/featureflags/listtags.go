package featureflags

import (
	"context"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
)

// Tags returns a page of the tags of all flags that are not deleted and that the caller may see,
// archived or not, in alphabetical order.
func (s Flags) Tags(ctx context.Context, scope *management.Scope, p management.Page) (management.List[string], error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (management.List[string], error) {
		all, err := s.selectMatching(tx, scope, &FlagQuery{Status: listStatuses})
		tags := map[string]bool{}
		for _, f := range all {
			for _, tag := range f.Tags {
				tags[tag] = true
			}
		}
		page, count := lists.PageOf(slices.Sorted(maps.Keys(tags)), p)
		return management.List[string]{Count: count, Results: page}, err
	})
}

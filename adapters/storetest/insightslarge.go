package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// largeProfiles checks persons and groups with 640 KiB of properties each: they are
// read in pages of some MiB, and each is returned exactly once.
func largeProfiles(t *testing.T, s InsightStore) {
	ctx := context.Background()
	const many, size = 20, 600_000
	about := strings.Repeat("x", size)
	var names []string
	var ids []capture.UUID
	save(t, s, capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 0, Name: "company"}}})
	for n := range many {
		name := fmt.Sprintf("%02d", n)
		names, ids = append(names, name), append(ids, uuidOf(name))
		properties := fmt.Sprintf(`{"name":%q,"about":%q}`, name, about)
		c := person(t, properties, name)
		c.Groups = append(c.Groups, capture.ProjectGroup{ProjectID: testProject, Group: capture.Group{GroupID: capture.GroupID{Key: name}, CreatedAt: epoch, Properties: object(t, properties)}})
		save(t, s, c)
	}
	const most = 8 << 20 / size // of a page
	var got []string
	for q := (capture.PersonQuery{Limit: 500}); ; {
		page, next, err := s.People(ctx, testProject, q)
		must(t, err)
		if len(page) > most {
			t.Fatalf("a page of %d persons with %d bytes each", len(page), size)
		}
		for i := range page {
			got = append(got, page[i].DistinctIDs...)
		}
		if q.After = next; next == 0 {
			break
		}
	}
	slices.Sort(got)
	equal(t, names, got, "pages of persons")
	got = nil
	for after := ""; ; {
		page, next, err := s.Groups(ctx, testProject, 0, after, "", 500)
		must(t, err)
		if len(page) > most {
			t.Fatalf("a page of %d groups with %d bytes each", len(page), size)
		}
		for _, g := range page {
			got = append(got, g.Key)
		}
		if after = next; next == "" {
			break
		}
	}
	equal(t, names, got, "pages of groups")

	largeAnswers(t, s, names, ids)
}

// largeAnswers reads the same persons and groups as queries do.
func largeAnswers(t *testing.T, s InsightStore, names []string, ids []capture.UUID) {
	t.Helper()
	ctx := context.Background()
	var got []string
	r, err := s.Open(ctx, testProject)
	must(t, err)
	for what, ask := range map[string][]capture.UUID{"all persons": nil, "persons by name": ids} {
		got = nil
		must(t, r.Profiles(ctx, ask, func(p *capture.StoredPerson) error {
			got = append(got, p.DistinctIDs...)
			return nil
		}))
		slices.Sort(got)
		equal(t, names, got, "%s", what)
	}
	for what, ask := range map[string][]string{"all groups": nil, "groups by name": names} {
		got = nil
		must(t, r.Groups(ctx, 0, ask, func(g *capture.Group) error {
			got = append(got, g.Key)
			return nil
		}))
		slices.Sort(got)
		equal(t, names, got, "%s", what)
	}
	must(t, r.Close())
}

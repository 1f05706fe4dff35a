package organizations

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// quotaResources are the resources that a quota can limit (decision 11, spec/capture.md §13.4).
var quotaResources = []string{"events", "exceptions", "surveys", "llm_events", "recordings", "feature_flags"}

// maxQuota is the greatest quota: the largest integer that all JSON parsers read exactly.
const maxQuota = 1<<53 - 1

// allQuotas returns the quotas with an entry for every resource, nil for no limit.
func allQuotas(has map[string]*int64) map[string]*int64 {
	out := map[string]*int64{}
	for _, resource := range quotaResources {
		out[resource] = has[resource]
	}
	return out
}

// sameQuotas reports whether two sets of quotas are equal.
func sameQuotas(a, b map[string]*int64) bool {
	return slices.EqualFunc(quotaResources, quotaResources, func(x, y string) bool {
		p, q := a[x], b[y]
		return p == q || p != nil && q != nil && *p == *q
	})
}

// readQuotas returns the quotas has, changed by those of a body. Absent resources stay, and null
// removes a limit.
func readQuotas(raw json.RawMessage, has map[string]*int64) (map[string]*int64, error) {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sent); err != nil {
		return nil, management.Fault("quotas", "Expected a dictionary of items.")
	}
	out := maps.Clone(has)
	if out == nil {
		out = map[string]*int64{}
	}
	// Sorted, so that the error for several faults is always the same.
	for _, resource := range slices.Sorted(maps.Keys(sent)) {
		if !slices.Contains(quotaResources, resource) {
			return nil, management.NotAChoice("quotas", resource, quotaResources)
		}
		f := management.Field{Name: "quotas__" + resource, Type: management.Int, Null: true, MaxValue: maxQuota}
		v, err := f.Read(sent[resource])
		if err != nil {
			return nil, err
		}
		if out[resource] = nil; v != nil {
			limit := v.(int64)
			out[resource] = &limit
		}
	}
	return out, nil
}

// usage is the response with the usage and the quotas of an organization in a UTC month (§5.12).
type usage struct {
	// Period has the first moment of the month and of the next one.
	Period       [2]management.Stamp `json:"period"`
	Events       resourceUsage       `json:"events"`
	Exceptions   resourceUsage       `json:"exceptions"`
	Surveys      resourceUsage       `json:"surveys"`
	LLMEvents    resourceUsage       `json:"llm_events"`
	Recordings   resourceUsage       `json:"recordings"`
	FeatureFlags resourceUsage       `json:"feature_flags"`
	// Sources are the usage of events and flag requests by key and SDK. They are delayed by some
	// seconds, and include flag requests of organizations without a limit.
	Sources []usageSource `json:"sources"`
}

// resourceUsage is the usage of one resource. Usage is the sum of the days of the month before
// today, and Today that of today.
type resourceUsage struct {
	Usage int64  `json:"usage"`
	Limit *int64 `json:"limit"` // null means no limit
	Today int64  `json:"todays_usage"`
	// LimitedUntil is the end of the month if the limit is reached, otherwise null.
	LimitedUntil management.Stamp  `json:"quota_limited_until"`
	Days         []projectDayUsage `json:"days"`
}

// usageSource is the usage of one resource by one SDK with one key on one UTC day.
type usageSource struct {
	Day      string `json:"day"`
	Project  int64  `json:"project_id"`
	Resource string `json:"resource"`
	Key      string `json:"key"` // "project" for the public key, otherwise the mask of the key
	SDK      string `json:"sdk"`
	Count    int64  `json:"count"`
}

// projectDayUsage is the usage of one project on one UTC day. Project is null for usage that is
// counted only by organization, such as flag requests.
type projectDayUsage struct {
	Day     string `json:"day"`
	Project *int64 `json:"project_id"`
	Count   int64  `json:"count"`
}

// Usage returns the usage of the scope's organization in the present UTC month.
func (s Service) Usage(ctx context.Context, scope *management.Scope) (*usage, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*usage, error) {
		now := s.Env.Now()
		start := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		end := start.AddDate(0, 1, 0)
		out := &usage{Period: [2]management.Stamp{management.NewStamp(start), management.NewStamp(end)}}
		for resource, into := range map[string]*resourceUsage{
			"events": &out.Events, "exceptions": &out.Exceptions, "surveys": &out.Surveys,
			"llm_events": &out.LLMEvents, "recordings": &out.Recordings, "feature_flags": &out.FeatureFlags,
		} {
			days, err := tx.Usage(scope.Organization.ID, resource, start)
			if err != nil {
				return nil, err
			}
			into.Limit, into.Days = scope.Organization.Quotas[resource], make([]projectDayUsage, 0, len(days))
			for i := range days {
				into.add(&days[i], now)
			}
			// The limit applies until the month ends, because usage only grows.
			if into.Limit != nil && into.Usage+into.Today >= *into.Limit {
				into.LimitedUntil = management.NewStamp(end)
			}
		}
		return out, out.addSources(tx, scope, start)
	})
}

// addSources sets Sources from the usage of all projects of the organization since start.
func (u *usage) addSources(tx Tx, scope *management.Scope, start time.Time) error {
	projects, err := tx.Projects(scope.Organization.ID)
	if err != nil {
		return err
	}
	u.Sources = []usageSource{}
	for i := range projects {
		list, err := tx.KeyUsage(projects[i].ID, start)
		if err != nil {
			return err
		}
		for _, x := range list {
			u.Sources = append(u.Sources, usageSource{x.Day.Format(time.DateOnly), x.Project, x.Resource, x.Key, x.SDK, x.N})
		}
	}
	return nil
}

// add adds the usage of one day.
func (u *resourceUsage) add(d *DayUsage, now time.Time) {
	day := projectDayUsage{Day: d.Day.Format(time.DateOnly), Count: d.N}
	// 0 means usage that is counted only by organization.
	if d.Project != 0 {
		day.Project = &d.Project
	}
	u.Days = append(u.Days, day)
	// Days and now are both UTC.
	if d.Day.Format(time.DateOnly) == now.Format(time.DateOnly) {
		u.Today += d.N
	} else {
		u.Usage += d.N
	}
}

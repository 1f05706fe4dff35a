package httpapi

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// defaultActivityPage is how many lines a page of a log of changes has when nobody
// says (§5.11).
const defaultActivityPage = 10

// maxActivityPage bounds the number of a page: beyond it there is nothing.
const maxActivityPage = management.MaxScan

// activityQuery are the parameters of a log of changes.
var activityQuery = []parameterDoc{
	{"limit", "integer", "lines a page, 10 by default, at most 1000"},
	{"page", "integer", "number of the page, 1 by default"},
}

// activityBody is the form of a log of changes (§5.11).
type activityBody struct {
	Results  []management.Activity `json:"results"`
	Next     *string               `json:"next"`
	Previous *string               `json:"previous"`
	Total    int                   `json:"total_count"`
}

// activityAnswer is a page of the log of what the call is in: the project or the
// organization. scope is the kind of thing, such as FeatureFlag, empty for all;
// item the id of one of them, empty for all.
func activityAnswer(c *call, scope, item string) (any, error) {
	limit, err := c.counting("limit", defaultActivityPage, maxPage)
	if err != nil {
		return nil, err
	}
	page, err := c.counting("page", 1, maxActivityPage)
	if err != nil {
		return nil, err
	}
	log, err := c.service.ActivityLog(c.ctx, c.standing, scope, item, limit, page)
	if err != nil {
		return nil, err
	}
	link := func(to int) *string {
		rd := &reader{server: c.server}
		return rd.link(c.r, map[string]string{"limit": strconv.Itoa(limit), "page": strconv.Itoa(to)})
	}
	out := activityBody{Results: log.Results, Total: log.Total}
	if page*limit < log.Total {
		out.Next = link(page + 1)
	}
	if page > 1 {
		out.Previous = link(page - 1)
	}
	return out, nil
}

// counting reads a parameter that counts from 1: one that is absent is the
// default, one that is too large the largest, and all others are errors.
func (c *call) counting(name string, unless, largest int) (int, error) {
	text := c.query().Get(name)
	if text == "" {
		return unless, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, management.Fault(name, "A valid integer is required.")
	case n < 1:
		return 0, management.Coded(management.CodeMinValue, name, "Ensure this value is greater than or equal to 1.")
	}
	return min(n, largest), nil
}

// activityLogQuery are the parameters of the log of everything.
var activityLogQuery = append([]parameterDoc{
	{"scope", "string", "the kind of thing, such as FeatureFlag"},
	{"item_id", "string", "the id of one thing"},
}, activityQuery...)

// activityLog is the log of a project or an organization.
func activityLog(c *call) (any, error) {
	return activityAnswer(c, c.query().Get("scope"), c.query().Get("item_id"))
}

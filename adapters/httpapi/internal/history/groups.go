package history

import (
	"net/url"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// groupType is a group type in a response (§5.4). Its dashboard, columns and time are always null,
// because they are not stored.
type groupType struct {
	GroupType       string           `json:"group_type"`
	GroupTypeIndex  int              `json:"group_type_index"`
	NameSingular    *string          `json:"name_singular"`
	NamePlural      *string          `json:"name_plural"`
	DetailDashboard *int64           `json:"detail_dashboard"`
	DefaultColumns  *string          `json:"default_columns"`
	CreatedAt       management.Stamp `json:"created_at"`
}

// listGroupTypes returns a JSON array, not a paginated list.
func (rd *Reader) listGroupTypes(c *frame.Call) (any, error) {
	names, err := rd.History.GroupTypes(c.Ctx, c.Project())
	if err != nil {
		return nil, err
	}
	labels, err := rd.management.Organizations.GroupTypeLabels(c.Ctx, c.Project())
	if err != nil {
		return nil, err
	}
	return showGroupTypes(names, labels), nil
}

func showGroupTypes(names []string, labels map[int]organizations.GroupTypeLabels) []groupType {
	out := []groupType{}
	for i, name := range names {
		if name != "" {
			out = append(out, groupType{GroupType: name, GroupTypeIndex: i, NameSingular: labels[i].Singular, NamePlural: labels[i].Plural})
		}
	}
	return out
}

type group struct {
	GroupTypeIndex  int              `json:"group_type_index"`
	GroupKey        string           `json:"group_key"`
	GroupProperties capture.Object   `json:"group_properties"`
	CreatedAt       management.Stamp `json:"created_at"`
}

func showGroup(g *capture.Group) group {
	out := group{GroupTypeIndex: g.Type, GroupKey: g.Key, GroupProperties: g.Properties, CreatedAt: management.Stamp{Time: g.CreatedAt}}
	if out.GroupProperties == nil {
		out.GroupProperties = capture.Object{}
	}
	return out
}

// groupTypeIndex returns the required query parameter group_type_index.
func groupTypeIndex(params url.Values) (int, error) {
	text := params.Get("group_type_index")
	if text == "" {
		return 0, problem.Required.With("", "group_type_index")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 255 {
		return 0, problem.Invalid("group_type_index", "A valid integer is required.")
	}
	return n, nil
}

// listGroups returns groups of one type, ordered by key. A search reads capture.SearchScan groups
// for one page, so that a page may have fewer results than its limit, or no results, and still a
// next link.
func (rd *Reader) listGroups(c *frame.Call) (any, error) {
	params := c.Query()
	p := frame.RangeOf(params)
	index, err := groupTypeIndex(params)
	if err != nil {
		return nil, err
	}
	out := frame.Uncounted[group]{Results: []group{}}
	if params.Has("group_key") {
		g, err := rd.History.Group(c.Ctx, c.Project(), capture.GroupID{Type: index, Key: params.Get("group_key")})
		if err != nil {
			return nil, err
		}
		if g != nil {
			out.Results = append(out.Results, showGroup(g))
		}
		return out, nil
	}
	after, err := frame.ParseTextCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	batch, next := pieces{limit: p.Limit}, after
	for n := batch.next(); n > 0; n = batch.next() {
		var piece []capture.Group
		if piece, next, err = rd.History.Groups(c.Ctx, c.Project(), index, next, params.Get("search"), n); err != nil {
			return nil, err
		}
		for i := range piece {
			out.Results = append(out.Results, showGroup(&piece[i]))
			batch.add(objectBytes(piece[i].Properties))
		}
		if len(piece) < n || next == "" {
			break
		}
	}
	if next != "" {
		out.Next = c.Link(map[string]string{"cursor": frame.TextCursor(next), "limit": strconv.Itoa(p.Limit), "offset": ""})
	}
	return out, nil
}

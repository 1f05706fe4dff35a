package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// groupType is a group type as it is shown (§5.4). The columns and the time are
// not kept here.
type groupType struct {
	GroupType       string  `json:"group_type"`
	GroupTypeIndex  int     `json:"group_type_index"`
	NameSingular    *string `json:"name_singular"`
	NamePlural      *string `json:"name_plural"`
	DetailDashboard *int64  `json:"detail_dashboard"`
	DefaultColumns  *string `json:"default_columns"`
	CreatedAt       stamp   `json:"created_at"`
}

// listGroupTypes answers with a plain array.
func listGroupTypes(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	names, err := rd.history.GroupTypes(r.Context(), project)
	if err != nil {
		return err
	}
	labels := map[int]management.GroupTypeLabels{}
	if rd.Management != nil {
		if labels, err = rd.Management.GroupTypeLabels(r.Context(), project); err != nil {
			return err
		}
	}
	return rd.reply(w, http.StatusOK, showGroupTypes(names, labels))
}

func showGroupTypes(names []string, labels map[int]management.GroupTypeLabels) []groupType {
	out := []groupType{}
	for i, name := range names {
		if name != "" {
			out = append(out, groupType{GroupType: name, GroupTypeIndex: i, NameSingular: labels[i].Singular, NamePlural: labels[i].Plural})
		}
	}
	return out
}

type group struct {
	GroupTypeIndex  int            `json:"group_type_index"`
	GroupKey        string         `json:"group_key"`
	GroupProperties capture.Object `json:"group_properties"`
	CreatedAt       stamp          `json:"created_at"`
}

func showGroup(g *capture.Group) group {
	out := group{GroupTypeIndex: g.Type, GroupKey: g.Key, GroupProperties: g.Properties, CreatedAt: stamp(g.CreatedAt)}
	if out.GroupProperties == nil {
		out.GroupProperties = capture.Object{}
	}
	return out
}

// groupTypeIndex reads the parameter that every question about groups needs.
func groupTypeIndex(params url.Values) (int, error) {
	text := params.Get("group_type_index")
	if text == "" {
		return 0, problemRequired.with("", "group_type_index")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 255 {
		return 0, invalid("group_type_index", "A valid integer is required.")
	}
	return n, nil
}

// listGroups answers with groups of one type by key. A search looks at
// capture.SearchScan of them for one page, which may hold less than its limit, or
// nothing, and still have a next link.
func listGroups(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	params := r.URL.Query()
	p := pageOf(params)
	index, err := groupTypeIndex(params)
	if err != nil {
		return err
	}
	out := uncounted[group]{Results: []group{}}
	if params.Has("group_key") {
		g, err := rd.history.Group(r.Context(), project, capture.GroupID{Type: index, Key: params.Get("group_key")})
		if err != nil {
			return err
		}
		if g != nil {
			out.Results = append(out.Results, showGroup(g))
		}
		return rd.reply(w, http.StatusOK, out)
	}
	after, err := parseTextCursor(p.cursor)
	if err != nil {
		return err
	}
	n, size, largest, next := firstPiece, 0, 1, after
	for len(out.Results) < p.limit && size < pageBytes {
		n = min(n, p.limit-len(out.Results))
		var piece []capture.Group
		if piece, next, err = rd.history.Groups(r.Context(), project, index, next, params.Get("search"), n); err != nil {
			return err
		}
		for i := range piece {
			out.Results = append(out.Results, showGroup(&piece[i]))
			bytes := objectBytes(piece[i].Properties)
			size, largest = size+bytes, max(largest, bytes)
		}
		if len(piece) < n || next == "" {
			break
		}
		n = max((pageBytes-size)/largest, 1)
	}
	if next != "" {
		out.Next = rd.link(r, map[string]string{"cursor": textCursor(next), "limit": strconv.Itoa(p.limit), "offset": ""})
	}
	return rd.reply(w, http.StatusOK, out)
}

// findGroup answers with one group, or 404.
func findGroup(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	params := r.URL.Query()
	index, err := groupTypeIndex(params)
	if err != nil {
		return err
	}
	if !params.Has("group_key") {
		return problemRequired.with("", "group_key")
	}
	g, err := rd.history.Group(r.Context(), project, capture.GroupID{Type: index, Key: params.Get("group_key")})
	if err != nil {
		return err
	}
	if g == nil {
		return &problemNotFound
	}
	return rd.reply(w, http.StatusOK, showGroup(g))
}

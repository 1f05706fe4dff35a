package frame

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// listReading is a query of a list with its values, errors and warnings.
type listReading struct {
	path, query string
	want        management.Values
	fault       string // "code field: message"
	warnings    []string
}

// runListReadings reads the queries at noon of 31 March 2026.
func runListReadings(t *testing.T, rows map[string]listReading) {
	t.Helper()
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for name, row := range rows {
		q, err := url.ParseQuery(row.query)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		e := Endpoint{Method: "GET", Path: row.path, Query: []Parameter{Param("own", "string", "")}}
		got, err := e.ReadList(w, q, now)
		fault := ""
		var target *management.Error
		var p *problem.Problem
		switch {
		case errors.As(err, &target):
			fault = target.Code + " " + target.Error()
		case errors.As(err, &p):
			fault = p.Code + " " + *p.Attr + ": " + p.Detail
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if row.want == nil && row.fault == "" {
			row.want = management.Values{}
		}
		if diff := cmp.Diff(row.want, got); diff != "" || fault != row.fault {
			t.Errorf("%s: fault %q, want %q (-want +got):\n%s", name, fault, row.fault, diff)
		}
		if diff := cmp.Diff(row.warnings, w.Header()["Bunting-Warning"]); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}

// spec/clients.md §2.1: unknown parameters are ignored with a warning, parameters of PostHog
// that this server does not support are refused, and a few are accepted everywhere without effect.
func TestReadList_Names(t *testing.T) {
	t.Parallel()
	runListReadings(t, map[string]listReading{
		"nothing":                {path: "/insights"},
		"of all lists":           {path: "/insights", query: "limit=1&offset=2&format=json&refresh=true&include_total=1&token=phc_x&api_key=phc_x&personal_api_key=phx_x"},
		"an unknown one":         {path: "/insights", query: "serach=x", warnings: []string{`the parameter "serach" is unknown and was ignored`}},
		"of another list":        {path: "/insights", query: "pinned=true", warnings: []string{`the parameter "pinned" is unknown and was ignored`}},
		"two unknown, sorted":    {path: "/insights", query: "b=1&a=1", warnings: []string{`the parameter "a" is unknown and was ignored`, `the parameter "b" is unknown and was ignored`}},
		"in capital letters":     {path: "/insights", query: "Search=x", warnings: []string{`the parameter "Search" is unknown and was ignored`}},
		"not done":               {path: "/insights", query: "feature_flag=f", fault: "invalid_input feature_flag: 'feature_flag' is not supported here yet."},
		"not done, empty":        {path: "/insights", query: "feature_flag=", fault: "invalid_input feature_flag: 'feature_flag' is not supported here yet."},
		"HogQL of events":        {path: "/events", query: "where=1", fault: "invalid_input where: 'where' is not supported here yet."},
		"without effect":         {path: "/insights", query: "include_dashboards=x"},
		"of the endpoint":        {path: "/insights", query: "own=x"},
		"read by the endpoint":   {path: "/events", query: "properties=[]&after=never"},
		"another format":         {path: "/insights", query: "format=csv", fault: "invalid_input format: 'csv' is not a format of this list: use json."},
		"an empty format":        {path: "/insights", query: "format="},
		"a list without any":     {path: "/groups_types", query: "search=x", warnings: []string{`the parameter "search" is unknown and was ignored`}},
		"a list without a table": {path: "/none", query: "own=1&x=1", warnings: []string{`the parameter "x" is unknown and was ignored`}},
	})
}

// How the value of each kind of parameter is read. Most empty values count as absent.
func TestReadList_Values(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	value := func(name string, v any) management.Values { return management.Values{name: v} }
	const notOne = `the value "new" of type is not one of static, dynamic and was ignored`
	runListReadings(t, map[string]listReading{
		"a text":                 {path: "/insights", query: "search=+a+", want: value("search", " a ")},
		"an empty text":          {path: "/insights", query: "search="},
		"the first of two":       {path: "/insights", query: "search=a&search=b", want: value("search", "a")},
		"an exact text":          {path: "/insights", query: "short_id=", want: value("short_id", "")},
		"a number":               {path: "/cohorts", query: "created_by_id=+7+", want: value("created_by_id", int64(7))},
		"the largest number":     {path: "/cohorts", query: "created_by_id=9223372036854775807", want: value("created_by_id", int64(9223372036854775807))},
		"too large a number":     {path: "/cohorts", query: "created_by_id=9223372036854775808", fault: "invalid_input created_by_id: A valid integer is required."},
		"no number":              {path: "/cohorts", query: "created_by_id=1.5", fault: "invalid_input created_by_id: A valid integer is required."},
		"an empty number":        {path: "/cohorts", query: "created_by_id="},
		"true":                   {path: "/dashboards", query: "pinned=true", want: value("pinned", true)},
		"any other word":         {path: "/dashboards", query: "pinned=x", want: value("pinned", true)},
		"false":                  {path: "/dashboards", query: "pinned=False", want: value("pinned", false)},
		"0":                      {path: "/dashboards", query: "pinned=0", want: value("pinned", false)},
		"no":                     {path: "/dashboards", query: "pinned=NO", want: value("pinned", false)},
		"an empty bool":          {path: "/dashboards", query: "pinned="},
		"present":                {path: "/insights", query: "favorited=", want: value("favorited", true)},
		"present with a value":   {path: "/insights", query: "favorited=anything", want: value("favorited", true)},
		"present but false":      {path: "/insights", query: "favorited=false"},
		"a choice":               {path: "/cohorts", query: "type=static", want: value("type", "static")},
		"no choice":              {path: "/cohorts", query: "type=new", warnings: []string{notOne}},
		"a strict choice":        {path: "/feature_flags/{id}/exposures", query: "interval=week", fault: `invalid_choice interval: "week" is not a valid choice. Valid choices: minute, hour, day.`},
		"an empty strict choice": {path: "/feature_flags/{id}/exposures", query: "interval="},
		"JSON texts":             {path: "/insights", query: `tags=["a","+b+",""]`, want: value("tags", []string{"a", "b"})},
		"no JSON texts":          {path: "/insights", query: `tags=[]`},
		"a bare tag":             {path: "/insights", query: `tags=a`, fault: "invalid_input tags: Must be a JSON array of texts."},
		"a JSON number":          {path: "/insights", query: `tags=[1]`, fault: "invalid_input tags: Must be a JSON array of texts."},
		"a broken array":         {path: "/insights", query: `tags=["a"`, fault: "invalid_input tags: Must be a JSON array of texts."},
		"JSON numbers":           {path: "/insights", query: `dashboards=[1,"2"]`, want: value("dashboards", []int64{1, 2})},
		"a JSON text":            {path: "/insights", query: `dashboards=["x"]`, fault: "invalid_input dashboards: A valid integer is required."},
		"a JSON fraction":        {path: "/insights", query: `dashboards=[1.5]`, fault: "invalid_input dashboards: A valid integer is required."},
		"JSON null":              {path: "/insights", query: `dashboards=null`},
		"a bare number":          {path: "/insights", query: `dashboards=1`, fault: "invalid_input dashboards: Must be a JSON array of whole numbers."},
		"numbers with commas":    {path: "/insights", query: `created_by=1,+2`, want: value("created_by", []int64{1, 2})},
		"numbers in an array":    {path: "/insights", query: `created_by=[1,2]`, want: value("created_by", []int64{1, 2})},
		"numbers in two":         {path: "/insights", query: `created_by=1&created_by=[2]`, want: value("created_by", []int64{1, 2})},
		"a number too few":       {path: "/insights", query: `created_by=1,`, fault: "invalid_input created_by: A valid integer is required."},
		"texts with commas":      {path: "/surveys", query: "ids=a,+b,,", want: value("ids", []string{"a", "b"})},
		"texts in an array":      {path: "/surveys", query: `ids=["a,b","c"]`, want: value("ids", []string{"a,b", "c"})},
		"texts that are empty":   {path: "/surveys", query: "ids=,"},
		"repeated":               {path: "/dashboards", query: "tags=a,b&tags=[c]&tags=", want: value("tags", []string{"a,b", "[c]"})},
		"a time":                 {path: "/insights", query: "date_from=2026-03-30T10:00:00%2B02:00", want: value("date_from", at(30, 8))},
		"not a time":             {path: "/insights", query: "date_from=yesterday", fault: "invalid_input date_from: Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."},
		"hours ago":              {path: "/insights", query: "date_from=-36h", want: value("date_from", at(30, 0))},
		"days ago":               {path: "/insights", query: "date_from=-7d", want: value("date_from", at(24, 12))},
		"weeks ago":              {path: "/insights", query: "date_from=-2w", want: value("date_from", at(17, 12))},
		"now":                    {path: "/insights", query: "date_from=-0d", want: value("date_from", at(31, 12))},
		// 31 February does not exist: its last day is the 28th (decision 44).
		"a month ago":    {path: "/insights", query: "date_from=-1m", want: value("date_from", time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC))},
		"a quarter ago":  {path: "/insights", query: "date_from=-1q", want: value("date_from", time.Date(2025, 12, 31, 12, 0, 0, 0, time.UTC))},
		"two years ago":  {path: "/insights", query: "date_from=-2y", want: value("date_from", time.Date(2024, 3, 31, 12, 0, 0, 0, time.UTC))},
		"9999 years ago": {path: "/insights", query: "date_from=-9999y", want: value("date_from", time.Date(-7973, 3, 31, 12, 0, 0, 0, time.UTC))},
	})
}

// A parameter has at most 1000 values, however they are written.
func TestReadList_MostValues(t *testing.T) {
	t.Parallel()
	const tooMany = ": Ensure this field has no more than 1000 elements."
	numbers := strings.TrimSuffix(strings.Repeat("1,", maxListValues), ",")
	rows := map[string]listReading{
		"too many with commas": {path: "/insights", query: "created_by=" + numbers + ",1", fault: "max_length created_by" + tooMany},
		"too many in arrays":   {path: "/insights", query: "created_by=[" + numbers + "]&created_by=1", fault: "max_length created_by" + tooMany},
		"too many repeated":    {path: "/dashboards", query: strings.Repeat("tags=a&", maxListValues) + "tags=b", fault: "max_length tags" + tooMany},
		"too many texts":       {path: "/surveys", query: "ids=" + numbers + ",1", fault: "max_length ids" + tooMany},
	}
	all := make([]int64, maxListValues)
	for i := range all {
		all[i] = 1
	}
	rows["as many as allowed"] = listReading{path: "/insights", query: "created_by=" + numbers, want: management.Values{"created_by": all}}
	runListReadings(t, rows)
}

// Endpoints are lists if they are in the table, if their response is counted, an array, or an object
// with results. The parameters of lists are checked.
func TestEndpoint_IsList(t *testing.T) {
	t.Parallel()
	type page struct{ Results []int }
	for name, c := range map[string]struct {
		e    Endpoint
		want bool
	}{
		"in the table":        {Endpoint{Method: "GET", Path: "/events"}, true},
		"a write of the path": {Endpoint{Method: "POST", Path: "/events"}, false},
		"counted":             {Endpoint{Method: "GET", Path: "/x", Response: management.List[int]{}}, true},
		"an array":            {Endpoint{Method: "GET", Path: "/x", Response: []int{}}, true},
		"with results":        {Endpoint{Method: "GET", Path: "/x", Response: page{}}, true},
		"one object":          {Endpoint{Method: "GET", Path: "/x", Response: Success{}}, false},
		"nothing":             {Endpoint{Method: "GET", Path: "/x"}, false},
		"a number":            {Endpoint{Method: "GET", Path: "/x", Response: 7}, false},
	} {
		if got := c.e.IsList(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// No list has a parameter twice or one that all lists have, and each parameter that has an effect
// is described.
func TestLists_Tables(t *testing.T) {
	t.Parallel()
	for path, list := range Lists {
		seen := map[string]bool{}
		for _, p := range list {
			isSilent := p.Kind == KindIgnored || p.Kind == KindUnsupported
			switch {
			case seen[p.Name]:
				t.Errorf("%s has %s twice", path, p.Name)
			case commonParameters[p.Name] && p.Kind != kindByEndpoint:
				t.Errorf("%s has %s, which all lists have", path, p.Name)
			case (p.Help == "") != isSilent:
				t.Errorf("%s: the help of %s is %q", path, p.Name, p.Help)
			case (p.Kind == kindChoice) != (len(p.Choices) > 0):
				t.Errorf("%s: %s has the choices %q", path, p.Name, p.Choices)
			}
			seen[p.Name] = true
		}
	}
}

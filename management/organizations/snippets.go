package organizations

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// snippetDefaults are the defaults of the code examples for a project's flags: the language, and
// the address of the server as the project's programs reach it. Empty members have no default.
type snippetDefaults struct {
	Language string `json:"language"`
	Host     string `json:"host"`
}

// snippetField is the project's field for snippetDefaults.
var snippetField = management.Field{Name: "snippet_defaults", Type: management.Object, Null: true, Help: "object with language (such as Go) and host (the server's URL as programs reach it, without a slash at the end), for code examples; null: no defaults"}

// snippetFields are the members of snippetField in a request.
var snippetFields = management.Fields{
	{Name: "language", Type: management.Text, Blank: true, MaxLength: 40},
	{Name: "host", Type: management.URL, Blank: true, MaxLength: 400},
}

// readSnippetDefaults reads the setting from a request. Unknown members are errors.
func readSnippetDefaults(raw json.RawMessage) (out snippetDefaults, err error) {
	members := management.JSONObject(raw)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(snippetFields, func(f management.Field) bool { return f.Name == name }) {
			return out, management.Fault(snippetField.Name, "%q is not a known member: use language or host.", name)
		}
	}
	v, err := snippetFields.Change(management.Body{Members: members})
	if err != nil {
		return out, resource.PrefixField(snippetField.Name, err)
	}
	return snippetDefaults{Language: v.Text("language"), Host: v.Text("host")}, nil
}

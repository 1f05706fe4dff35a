package flags

import (
	"fmt"
	"strconv"
)

// File is a definitions file: an organization and its projects (see
// [ParseFile]).
type File struct {
	Organization Organization
	// PersonalKeys stand beside the organization and open it with all its projects.
	PersonalKeys []PersonalKey
	Projects     []FileProject
}

// Organization owns projects and their quotas.
type Organization struct {
	ID, Name string
	// Quotas are limits by resource ("feature_flags", "events") in a UTC calendar
	// month. A resource that is absent has no limit.
	Quotas map[string]int64
}

// FileProject is a project with its flags and the keys that may read them.
type FileProject struct {
	Project
	Definitions  Definitions
	PersonalKeys []PersonalKey
	SecretKeys   []string
}

// PersonalKey is a key of a person and what it opens: scopes such as
// "feature_flag:read", or "*" for everything.
type PersonalKey struct {
	Key    string
	Scopes []string
}

// ParseFile reads a definitions file: {"organization": …, "projects": [ … ]}.
// It fails on what is no such JSON, with the place, and on what would make the
// file ambiguous; a bad flag fails alone.
func ParseFile(data []byte) (File, error) {
	v, err := DecodeJSON(data)
	if err != nil {
		return File{}, fmt.Errorf("flags: %w", err)
	}
	file, err := parseFile(&node{value: v})
	if err != nil {
		return File{}, fmt.Errorf("flags: %w", err)
	}
	return file, nil
}

// ParsePayload reads a bare definitions payload, as PostHog serves it, as a
// file of one project, number 1, with the given key and no organization. It fails
// as [ParseDefinitions] does.
func ParsePayload(data []byte, apiKey string) (File, error) {
	d, err := ParseDefinitions(data)
	if err != nil {
		return File{}, err
	}
	return File{Projects: []FileProject{{
		Project:     Project{ID: 1, Name: "default", APIKey: apiKey},
		Definitions: d,
	}}}, nil
}

// IsFile reports whether a document is a definitions file rather than a bare
// payload. What is no JSON is neither.
func IsFile(data []byte) bool {
	v, err := DecodeJSON(data)
	return err == nil && (&node{value: v}).has("projects")
}

func parseFile(root *node) (file File, err error) {
	fault := read(func() {
		root.object()
		root.knownHere(fileShape)
		if !root.has("projects") {
			root.at("projects").fail("is missing: a definitions file has an organization and projects, see the README")
		}
		if org := root.at("organization"); org.value != nil {
			file.Organization = parseOrganization(org)
		}
		file.PersonalKeys = parsePersonalKeys(root)
		projects := root.at("projects")
		for i, v := range projects.list() {
			n := projects.item(i, v)
			p := parseProject(n)
			p.OrganizationID = file.Organization.ID
			if limit, ok := file.Organization.Quotas["feature_flags"]; ok {
				p.FlagLimit = &limit
			}
			for _, other := range file.Projects {
				if other.APIKey == p.APIKey {
					n.at("api_key").fail("%s is the key of another project", quote(p.APIKey))
				}
				if other.ID == p.ID {
					n.at("id").fail("%d is the id of another project", p.ID)
				}
			}
			file.Projects = append(file.Projects, p)
		}
	})
	if fault != nil {
		return File{}, fault
	}
	return file, nil
}

func parseOrganization(n *node) Organization {
	n.object()
	n.knownHere(organizationShape)
	org := Organization{ID: n.at("id").textOr(), Name: n.at("name").textOr()}
	if quotas := n.at("quotas"); quotas.value != nil {
		org.Quotas = map[string]int64{}
		for resource, v := range quotas.object() {
			if v == nil {
				continue
			}
			limit := quotas.at(resource).int()
			if limit < 0 {
				quotas.at(resource).fail("a quota is not negative; null means no limit")
			}
			org.Quotas[resource] = limit
		}
	}
	return org
}

// parsePersonalKeys reads the personal_api_keys of a project, or of the file.
func parsePersonalKeys(n *node) (out []PersonalKey) {
	keys := n.at("personal_api_keys")
	for i, v := range keys.list() {
		k := keys.item(i, v)
		k.object()
		k.knownHere(keyShape)
		out = append(out, PersonalKey{k.at("key").text(), k.at("scopes").texts()})
	}
	return out
}

func parseProject(n *node) FileProject {
	n.object()
	p := FileProject{}
	p.ID = n.at("id").int()
	if p.ID <= 0 {
		n.at("id").fail("a project's id is greater than 0, not %d", p.ID)
	}
	p.Name = n.at("name").textOr()
	if p.Name == "" {
		p.Name = "project " + strconv.FormatInt(p.ID, 10)
	}
	p.APIKey = n.at("api_key").text()
	if p.APIKey == "" {
		n.at("api_key").fail("must not be empty")
	}
	p.PersonalKeys = parsePersonalKeys(n)
	p.SecretKeys = n.at("secret_api_keys").texts()
	p.QuotaLimited = n.at("quota_limited").texts()
	if !n.has("flags") {
		n = &node{value: withEmptyFlags(n.object()), parent: n.parent, name: n.name, index: n.index}
	}
	p.Definitions = parseDefinitions(n)
	for _, name := range sortedKeys(n.object()) {
		if _, known := projectShape.members[name]; !known && projectShape.meant(n.object(), name) == "" {
			p.Definitions.faults = append(p.Definitions.faults, &DefinitionError{
				Path: name, Problem: "is not a member of a project and does nothing",
			})
		}
	}
	return p
}

func withEmptyFlags(obj map[string]any) map[string]any {
	out := map[string]any{"flags": []any{}}
	for k, v := range obj {
		out[k] = v
	}
	return out
}

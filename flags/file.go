package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// File is a definitions file: an organization and its projects, see [ParseFile].
type File struct {
	Organization Organization
	// PersonalKeys are keys with access to the organization and all its projects.
	PersonalKeys []PersonalKey
	Projects     []FileProject
}

// Organization owns projects and their quotas.
type Organization struct {
	ID, Name string
	// Quotas are the limits by resource ("feature_flags", "events") for a calendar month in
	// UTC. A resource without an entry has no limit.
	Quotas map[string]int64
}

// FileProject is a project with its flags and the keys that may read them.
type FileProject struct {
	Project
	Definitions  Definitions
	PersonalKeys []PersonalKey
	SecretKeys   []string
}

// PersonalKey is a key of a person and its scopes, such as "feature_flag:read", or "*" for
// all.
type PersonalKey struct {
	Key    string
	Scopes []string
}

// ParseFile parses a definitions file: {"organization": …, "projects": [ … ]}. It returns an
// error with the position for text that is not such JSON, and for an ambiguous file, such as
// one with two projects of the same key. A faulty flag fails by itself.
func ParseFile(data []byte) (File, error) {
	root, err := open(data)
	if err != nil {
		return File{}, fmt.Errorf("flags: %w", err)
	}
	file, err := parseFile(root)
	if err != nil {
		return File{}, fmt.Errorf("flags: %w", err)
	}
	return file, nil
}

// ParsePayload parses a definitions payload, as PostHog serves it, as a file of one project
// with the id 1, the given key and no organization. A definitions file is parsed as by
// [ParseFile]. Its other errors are those of [ParseDefinitions].
func ParsePayload(data []byte, apiKey string) (File, error) {
	if root, err := open(data); err == nil && root.has(nProjects) {
		return ParseFile(data)
	}
	d, err := ParseDefinitions(data)
	if err != nil {
		return File{}, err
	}
	return File{Projects: []FileProject{{
		Project:     Project{ID: 1, Name: "default", APIKey: apiKey},
		Definitions: d,
	}}}, nil
}

// parseFile parses the organization, the keys and the projects. Two projects must not have
// the same key or id.
func parseFile(root node) (file File, err error) {
	fault := read(func() {
		root.mustBeObject().failUnknownHere(fileShape)
		projects := root.at(nProjects)
		if !root.has(nProjects) {
			projects.fail("is missing: a definitions file has an organization and projects, see the README")
		}
		if org := root.at(nOrganization); !org.null() {
			file.Organization = parseOrganization(org)
		}
		file.PersonalKeys = parsePersonalKeys(root)
		for list := projects.list(); list.next(); {
			n := list.node
			p := parseProject(n)
			p.OrganizationID = file.Organization.ID
			if limit, ok := file.Organization.Quotas["feature_flags"]; ok {
				p.FlagLimit = &limit
			}
			for _, other := range file.Projects {
				if other.APIKey == p.APIKey {
					n.at(nAPIKey).fail("%s is the key of another project", values.Quote(p.APIKey))
				}
				if other.ID == p.ID {
					n.at(nID).fail("%d is the id of another project", p.ID)
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

func parseOrganization(n node) Organization {
	n.mustBeObject().failUnknownHere(organizationShape)
	org := Organization{ID: n.at(nID).textOrEmpty(), Name: n.at(nName).textOrEmpty()}
	if quotas := n.at(nQuotas); !quotas.null() {
		org.Quotas = map[string]int64{}
		for _, e := range quotas.entries() {
			if e.null() {
				continue
			}
			limit := e.int()
			if limit < 0 {
				e.fail("a quota must not be negative; null means no limit")
			}
			org.Quotas[e.name] = limit
		}
	}
	return org
}

// parsePersonalKeys parses the personal_api_keys of a project or of the file.
func parsePersonalKeys(n node) (out []PersonalKey) {
	for list := n.at(nPersonalKeys).list(); list.next(); {
		list.mustBeObject().failUnknownHere(keyShape)
		out = append(out, PersonalKey{list.at(nKey).text(), list.at(nScopes).texts()})
	}
	return out
}

// parseProject parses a project and its definitions. An unknown member is a fault of the
// definitions, unless it resembles a valid member: misspelt members are reported elsewhere.
func parseProject(n node) FileProject {
	n.mustBeObject()
	p := FileProject{}
	p.ID = n.at(nID).int()
	if p.ID <= 0 {
		n.at(nID).fail("a project's id must be greater than 0, not %d", p.ID)
	}
	p.Name = n.at(nName).textOrEmpty()
	if p.Name == "" {
		p.Name = "project " + strconv.FormatInt(p.ID, 10)
	}
	p.APIKey = n.at(nAPIKey).text()
	if p.APIKey == "" {
		n.at(nAPIKey).fail("must not be empty")
	}
	p.PersonalKeys = parsePersonalKeys(n)
	p.SecretKeys = n.at(nSecretKeys).texts()
	p.QuotaLimited = n.at(nQuotaLimited).texts()
	p.Definitions = parseDefinitions(n)
	last := lastOfNames(n)
	for _, e := range n.entries() {
		if _, found := projectShape.members[e.name]; !found && projectShape.nearestMember(last, e.name) == "" {
			p.Definitions.faults = append(p.Definitions.faults, &DefinitionError{
				Path: strings.Clone(e.name), Problem: "is not a member of a project and does nothing",
			})
		}
	}
	return p
}

// Project is a project without its flags.
type Project struct {
	ID             int64
	Name           string
	APIKey         string // public, identifies the project in requests
	OrganizationID string
	// Revision is increased with every change of a flag or cohort; the registry compiles the
	// definitions if the revision has changed. Zero means unknown: the definitions are then
	// read every second and compared with the previous ones.
	Revision int64
	// FlagLimit is the organization's quota of flag requests in a calendar month in UTC. If
	// nil, there is no limit.
	FlagLimit *int64
	// QuotaLimited lists resources of this project that are paused.
	QuotaLimited []string
	// Browser contains the project's settings for browsers as a JSON object: which data they
	// may capture, and whether they display surveys. This package does not use it. Empty
	// means the defaults.
	Browser string
}

// MembersLimit limits the members of all cohorts together: the number of distinct ids, and
// their total length in bytes.
type MembersLimit struct{ IDs, Bytes int }

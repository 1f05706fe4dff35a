package organizations

import "github.com/bunting-flags/bunting/management"

// role is a group of members of an organization in responses (§5.1.3).
type role struct {
	roleSettings
	CreatedBy *management.UserView `json:"created_by"`
	Members   []roleMember         `json:"members"`
	// Default reports whether the role is the organization's default_role_id.
	Default bool `json:"is_default"`
}

// storedRole is the stored form of a role.
type storedRole struct {
	roleSettings
	// By is the number of the creator, 0 if the role was created with a key, since responses do not
	// disclose whom a key belongs to (spec/clients.md §1.2). Older records have a member
	// created_by, which was always set by a key.
	By int64 `json:"by,omitempty"`
}

// roleMember is the assignment of a role to a member in responses.
type roleMember struct {
	ID      string               `json:"id"`
	Role    string               `json:"role_id"`
	Member  *organizationMember  `json:"organization_member"`
	User    *management.UserView `json:"user"`
	Joined  management.Stamp     `json:"joined_at"`
	Updated management.Stamp     `json:"updated_at"`
}

// roleSettings are the fields of a role that are the same in records and in responses.
type roleSettings struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	CreatedAt management.Stamp `json:"created_at"`
}

package organizations

import "github.com/bunting-flags/bunting/management"

// APIKey is a personal key in responses to its user (§1.10).
type APIKey struct {
	ID            string           `json:"id"`
	Label         string           `json:"label"`
	Value         *string          `json:"value"` // null except in the response that creates or rolls the key
	Mask          string           `json:"mask_value"`
	CreatedAt     management.Stamp `json:"created_at"`
	LastUsedAt    management.Stamp `json:"last_used_at"`
	User          int64            `json:"user_id"`
	Scopes        []string         `json:"scopes"`
	Projects      []int64          `json:"scoped_teams"`
	Organizations []string         `json:"scoped_organizations"`
	LastRolledAt  management.Stamp `json:"last_rolled_at"`
}

// ownKey is a personal key of the caller. value is its text if it was just generated, otherwise
// empty.
type ownKey struct {
	management.KeyRecord
	value string
}

// allScopes is the scope that includes all other scopes.
const allScopes = "*"

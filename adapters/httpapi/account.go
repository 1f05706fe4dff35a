package httpapi

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// accountEndpoints are the endpoints for the calling user (§1.9) and its personal API keys (§1.10).
var accountEndpoints = resource(atRoot, "user", accountOf, asMe([]row[organizations.Account]{
	read("/users/{user}", "Read the calling user, @me", organizations.Account.Me),
	patch("/users/{user}", "Change the calling user, @me", "Change the calling user, @me", organizations.AccountFields, updateMe),
	remove("/users/{user}", "Delete the calling user, @me, who is no member of anything", deleteMe),
	read("/personal_api_keys", "List the calling user's keys", organizations.Account.Keys).withResponse([]organizations.APIKey{}),
	create("/personal_api_keys", "Make a key, which is shown once", organizations.APIKeyFields, organizations.Account.CreateKey).withProof().uncompressed(),
	get("/personal_api_keys/{id}", "Read a key; @current is the calling one, others need user:read", organizations.Account.Key).withScope(anyKey),
	update("/personal_api_keys/{id}", "Change a key", "Replace a key", organizations.APIKeyFields, organizations.Account.UpdateKey).withProof(),
	remove("/personal_api_keys/{id}", "Revoke a key", organizations.Account.DeleteKey),
	act(http.MethodPost, "/personal_api_keys/{id}/roll", "Give a key another value, which is shown once", organizations.Account.RollKey).withProof().uncompressed(),
}))

func updateMe(svc organizations.Account, ctx context.Context, scope *management.Scope, _ string, b body) (*organizations.Me, error) {
	return svc.Update(ctx, scope, b)
}

func deleteMe(svc organizations.Account, ctx context.Context, scope *management.Scope, _ string) error {
	return svc.Delete(ctx, scope)
}

// asMe restricts the endpoints below /users to @me: users cannot read or change each other (§1.7).
func asMe(rows []row[organizations.Account]) []row[organizations.Account] {
	for i := range rows {
		do := rows[i].do
		if rows[i].path != "/users/{user}" {
			continue
		}
		rows[i].do = func(svc organizations.Account, c *call) (any, error) {
			if c.part("user") != "@me" {
				return nil, management.Denied("As a non-staff user you're only allowed to access the `@me` user instance.")
			}
			return do(svc, c)
		}
	}
	return rows
}

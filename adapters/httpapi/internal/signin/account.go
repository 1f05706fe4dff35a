package signin

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// accountEndpoints are the endpoints for the calling user (§1.9) and its personal API keys (§1.10).
var accountEndpoints = frame.Resource(frame.AtRoot, "user", accountOf, asMe([]frame.Row[organizations.Account]{
	frame.Read("/users/{user}", "Read the calling user, @me", organizations.Account.Me),
	frame.Patch("/users/{user}", "Change the calling user, @me", "Change the calling user, @me", organizations.AccountFields, updateMe),
	frame.Remove("/users/{user}", "Delete the calling user, @me, who must not be a member of any organization", deleteMe),
	frame.Read("/personal_api_keys", "List the calling user's personal API keys", organizations.Account.Keys).WithResponse([]organizations.APIKey{}),
	frame.Create("/personal_api_keys", "Create a personal API key; the response is the only one with its value", organizations.APIKeyFields, organizations.Account.CreateKey).WithProof().Uncompressed(),
	frame.Get("/personal_api_keys/{id}", "Read a personal API key; @current is the key of the request, other ids require user:read", organizations.Account.Key).WithScope(frame.AnyKey),
	frame.Update("/personal_api_keys/{id}", "Change a personal API key", "Replace a personal API key", organizations.APIKeyFields, organizations.Account.UpdateKey).WithProof(),
	frame.Remove("/personal_api_keys/{id}", "Revoke a personal API key", organizations.Account.DeleteKey),
	frame.Act(http.MethodPost, "/personal_api_keys/{id}/roll", "Replace the value of a personal API key; the response is the only one with the new value", organizations.Account.RollKey).WithProof().Uncompressed(),
}))

func updateMe(svc organizations.Account, ctx context.Context, scope *management.Scope, _ string, b management.Body) (*organizations.Me, error) {
	return svc.Update(ctx, scope, b)
}

func deleteMe(svc organizations.Account, ctx context.Context, scope *management.Scope, _ string) error {
	return svc.Delete(ctx, scope)
}

// asMe restricts the endpoints below /users to @me: users cannot read or change each other (§1.7).
func asMe(rows []frame.Row[organizations.Account]) []frame.Row[organizations.Account] {
	for i := range rows {
		do := rows[i].Do
		if rows[i].Path != "/users/{user}" {
			continue
		}
		rows[i].Do = func(svc organizations.Account, c *frame.Call) (any, error) {
			if c.Part("user") != "@me" {
				return nil, management.Denied("As a non-staff user you're only allowed to access the `@me` user instance.")
			}
			return do(svc, c)
		}
	}
	return rows
}

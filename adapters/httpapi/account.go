package httpapi

import "github.com/bunting-flags/bunting/management"

// accountEndpoints are those of what a user sees of itself (§1.9) and of personal
// keys (§1.10).
var accountEndpoints = []endpoint{
	{
		method: "GET", area: atRoot, path: "/users/{user}", scope: "user:read", summary: "Read the calling user, @me",
		gives: management.Me{},
		do:    asMe(func(c *call) (any, error) { return c.service.Account.Me(c.ctx, c.standing) }),
	},
	{
		method: "PATCH", area: atRoot, path: "/users/{user}", scope: "user:write", summary: "Change the calling user, @me",
		takes: management.AccountFields, gives: management.Me{}, do: asMe(updateMe),
	},
	{
		method: "PUT", area: atRoot, path: "/users/{user}", scope: "user:write", summary: "Change the calling user, @me",
		takes: management.AccountFields, gives: management.Me{}, do: asMe(updateMe),
	},
	{
		method: "DELETE", area: atRoot, path: "/users/{user}", scope: "user:write", summary: "Delete the calling user, @me, who is no member of anything",
		status: 204,
		do:     asMe(func(c *call) (any, error) { return nil, c.service.Account.Delete(c.ctx, c.standing) }),
	},
	{
		method: "GET", area: atRoot, path: "/personal_api_keys", scope: "user:read", summary: "List the calling user's keys",
		gives: []management.APIKey{},
		do:    func(c *call) (any, error) { return c.service.Account.Keys(c.ctx, c.standing) },
	},
	{
		method: "POST", area: atRoot, path: "/personal_api_keys", scope: "user:write", summary: "Make a key, which is shown once",
		takes: management.APIKeyFields, status: 201, gives: management.APIKey{},
		do: func(c *call) (any, error) { return c.service.Account.CreateKey(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: atRoot, path: "/personal_api_keys/{id}", scope: anyKey, summary: "Read a key; @current is the calling one, others need user:read",
		gives: management.APIKey{},
		do:    func(c *call) (any, error) { return c.service.Account.Key(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: atRoot, path: "/personal_api_keys/{id}", scope: "user:write", summary: "Change a key",
		takes: management.APIKeyFields, gives: management.APIKey{}, do: updateKey,
	},
	{
		method: "PUT", area: atRoot, path: "/personal_api_keys/{id}", scope: "user:write", summary: "Replace a key",
		takes: management.APIKeyFields, gives: management.APIKey{}, do: updateKey,
	},
	{
		method: "DELETE", area: atRoot, path: "/personal_api_keys/{id}", scope: "user:write", summary: "Revoke a key",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Account.DeleteKey(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "POST", area: atRoot, path: "/personal_api_keys/{id}/roll", scope: "user:write", summary: "Give a key another value, which is shown once",
		gives: management.APIKey{},
		do:    func(c *call) (any, error) { return c.service.Account.RollKey(c.ctx, c.standing, c.part("id")) },
	},
}

// asMe serves the calling user: nobody sees another one (§1.7).
func asMe(do func(c *call) (any, error)) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		if c.part("user") != "@me" {
			return nil, management.Denied("As a non-staff user you're only allowed to access the `@me` user instance.")
		}
		return do(c)
	}
}

func updateMe(c *call) (any, error) {
	return c.service.Account.Update(c.ctx, c.standing, c.body)
}

func updateKey(c *call) (any, error) {
	return c.service.Account.UpdateKey(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}

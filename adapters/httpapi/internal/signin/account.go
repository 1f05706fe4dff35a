package signin

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// accountEndpoints are the endpoints for the calling user (§1.9) and its personal API keys (§1.10).
var accountEndpoints = slices.Concat(
	frame.Resource(frame.AtRoot, "user", accountOf, asMe([]frame.Row[organizations.Account]{
		frame.Get("/users/{user}", "Read the calling user, @me", organizations.Account.Get),
		frame.Update("/users/{user}", "Change the calling user, @me", "Change the calling user, @me", organizations.Bodies.Account, organizations.Account.Update),
		frame.Remove("/users/{user}", "Delete the calling user, @me, who must not be a member of any organization", organizations.Account.Delete),
	})),
	frame.Resource(frame.AtRoot, "user", func(s *frame.Server) organizations.PersonalKeys { return s.Management.Organizations.Keys }, []frame.Row[organizations.PersonalKeys]{
		frame.Unpaged("/personal_api_keys", "List the calling user's personal API keys", organizations.PersonalKeys.List),
		frame.Create("/personal_api_keys", "Create a personal API key; the response is the only one with its value", organizations.Bodies.Key, organizations.PersonalKeys.Create).WithProof().Uncompressed(),
		frame.Get("/personal_api_keys/{id}", "Read a personal API key; @current is the key of the request, other ids require user:read", organizations.PersonalKeys.Get).WithScope(frame.AnyKey),
		frame.Update("/personal_api_keys/{id}", "Change a personal API key", "Replace a personal API key", organizations.Bodies.Key, organizations.PersonalKeys.Update).WithProof(),
		frame.Remove("/personal_api_keys/{id}", "Revoke a personal API key", organizations.PersonalKeys.Delete),
		frame.Act(http.MethodPost, "/personal_api_keys/{id}/roll", "Replace the value of a personal API key; the response is the only one with the new value", organizations.PersonalKeys.Roll).WithProof().Uncompressed(),
	}),
)

// asMe restricts the endpoints of users to @me: users cannot read or change each other (§1.7).
func asMe(rows []frame.Row[organizations.Account]) []frame.Row[organizations.Account] {
	for i := range rows {
		do := rows[i].Do
		rows[i].Do = func(svc organizations.Account, c *frame.Call) (any, error) {
			if c.Part("user") != "@me" {
				return nil, management.Denied("As a non-staff user you're only allowed to access the `@me` user instance.")
			}
			return do(svc, c)
		}
	}
	return rows
}

// confirmFields are the fields for confirming an e-mail address. The page sends secret and the
// API token (§1.9).
var confirmFields = management.Fields{
	{Name: "uuid", Type: management.Text, MaxLength: 64, Help: "uuid of the user"},
	{Name: "token", Type: management.Text, MaxLength: 200, Help: "secret from the link in the email"},
	{Name: "secret", Type: management.Text, MaxLength: 200, Help: "the same as token"},
}

func accountOf(s *frame.Server) organizations.Account { return s.Management.Organizations.Account }

// confirmEndpoints confirm the pending e-mail address of a user.
var confirmEndpoints = slices.Concat(
	frame.Resource(frame.AtRoot, frame.Public, accountOf, []frame.Row[organizations.Account]{
		frame.Handle(http.MethodPost, "/users/verify_email", "Confirm an email address", confirmEmail).WithBody(confirmFields),
	}),
	frame.Resource(frame.AtTop, frame.Public, accountOf, []frame.Row[organizations.Account]{
		frame.Handle(http.MethodGet, "/verify_email/{user}", "Show the page that confirms an email address", getConfirmPage).WithQuery(secretParameter).WithMediaType(frame.HTML),
		frame.Handle(http.MethodPost, "/verify_email/{user}", "Confirm an email address from its page", postConfirmPage).WithBody(confirmFields).WithQuery(secretParameter).WithMediaType(frame.HTML),
	}),
)

func confirmEmail(svc organizations.Account, c *frame.Call) (*management.UserView, error) {
	forbidCaching(c)
	return svc.Confirm(c.Ctx, frame.TextMember(c.Body, "uuid"), frame.TextMember(c.Body, "token"))
}

func getConfirmPage(_ organizations.Account, c *frame.Call) (any, error) {
	return confirmPage(c, http.StatusOK, confirmView{Secret: secret(c)})
}

// confirmView is the data of the page: a form, or the result.
type confirmView struct {
	Secret, Problem, Email string
}

// confirmPage renders the page. GET does not confirm the address, because programs that scan
// mails follow links.
func confirmPage(c *frame.Call, status int, view confirmView) (any, error) {
	forbidCaching(c)
	return c.HTML(status, "confirm.html", false, view)
}

func postConfirmPage(svc organizations.Account, c *frame.Call) (any, error) {
	u, err := svc.Confirm(c.Ctx, c.Part("user"), secret(c))
	if err == nil {
		return confirmPage(c, http.StatusOK, confirmView{Email: u.Email})
	}
	target := problem.Of(problem.OfManagement(err))
	if target.Status >= http.StatusInternalServerError {
		return nil, err
	}
	return confirmPage(c, target.Status, confirmView{Problem: target.Detail})
}

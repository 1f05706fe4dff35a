package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// confirmFields are the fields for confirming an e-mail address. The page sends secret and the
// API token (§1.9).
var confirmFields = management.Fields{
	{Name: "uuid", Type: management.Text, MaxLength: 64, Help: "uuid of the user"},
	{Name: "token", Type: management.Text, MaxLength: 200, Help: "secret from the link in the email"},
	{Name: "secret", Type: management.Text, MaxLength: 200, Help: "the same as token"},
}

func accountOf(s *server) organizations.Account { return s.Management.Organizations.Account }

// confirmEndpoints confirm the pending e-mail address of a user.
var confirmEndpoints = slices.Concat(
	resource(atRoot, public, accountOf, []row[organizations.Account]{
		handle(http.MethodPost, "/users/verify_email", "Confirm an email address", confirmEmail).withBody(confirmFields),
	}),
	resource(atTop, public, accountOf, []row[organizations.Account]{
		handle(http.MethodGet, "/verify_email/{user}", "Show the page that confirms an email address", getConfirmPage).withQuery(secretParameter).withMediaType(html),
		handle(http.MethodPost, "/verify_email/{user}", "Confirm an email address from its page", postConfirmPage).withBody(confirmFields).withQuery(secretParameter).withMediaType(html),
	}),
)

func confirmEmail(svc organizations.Account, c *call) (*management.UserView, error) {
	forbidCaching(c)
	return svc.Confirm(c.ctx, textMember(c.body, "uuid"), textMember(c.body, "token"))
}

func getConfirmPage(_ organizations.Account, c *call) (any, error) {
	return confirmPage(c, http.StatusOK, confirmView{Secret: secret(c)})
}

// confirmView is the data of the page: a form, or the result.
type confirmView struct {
	Secret, Problem, Email string
}

// confirmPage renders the page. GET does not confirm the address, because programs that scan
// mails follow links.
func confirmPage(c *call, status int, view confirmView) (any, error) {
	forbidCaching(c)
	return c.html(status, "confirm.html", false, view)
}

func postConfirmPage(svc organizations.Account, c *call) (any, error) {
	u, err := svc.Confirm(c.ctx, c.part("user"), secret(c))
	if err == nil {
		return confirmPage(c, http.StatusOK, confirmView{Email: u.Email})
	}
	target := problem.Of(problem.OfManagement(err))
	if target.Status >= http.StatusInternalServerError {
		return nil, err
	}
	return confirmPage(c, target.Status, confirmView{Problem: target.Detail})
}

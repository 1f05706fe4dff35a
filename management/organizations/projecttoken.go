package organizations

import (
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// NewProjectFields are the fields of a project that is made. Its key can be chosen
// then and never again.
var NewProjectFields = append(ProjectFields[:len(ProjectFields):len(ProjectFields)], tokenField...)

// maxToken is how long a project's key may be, as capture takes it (§3.6 of capture).
const maxToken = 64

var tokenField = management.Fields{{
	Name: "api_token", Type: management.Text, Null: true, MaxLength: maxToken,
	Help: "the project's public key, for a project that moves here with its clients: letters, digits, - and _; made when it is not given; for owners",
}}

// readToken is the key that the body of a new project asks for, empty for none. Only
// owners may choose; a key that is anybody's already, and was it that of a project that
// is gone, is refused.
func readToken(tx Tx, level management.Level, b management.Body) (string, error) {
	v, err := tokenField.Create(b)
	if err != nil {
		return "", err
	}
	token := v.Text("api_token")
	switch {
	case token == "":
		return "", nil
	case level < management.Owner:
		return "", management.Denied("Only an owner of the organization can choose a project's api_token.")
	case strings.Trim(token, tokenAlphabet) != "":
		return "", management.Fault("api_token", "A project's key has letters, digits, - and _ only.")
	case strings.HasPrefix(token, "phx_"), strings.HasPrefix(token, "phs_"):
		return "", management.Fault("api_token", "A project's key is public and does not begin with %s, as personal and secret keys do.", token[:4])
	}
	key, err := tx.Key(management.HashKey(token))
	if err == nil && key != nil {
		err = errDuplicateToken()
	}
	return token, err
}

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func errDuplicateToken() error {
	return management.CodedFault(management.CodeUnique, "api_token", "Another project has this key, or had it.")
}

package exports

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// maxMessage is the maximum size of a message from the server, in bytes. The expected messages are
// small.
const maxMessage = 1 << 20

// database is a destination table in a PostgreSQL database.
type database struct {
	User       string `json:"user"`
	Password   string `json:"password"`
	Host       string `json:"host"`
	Port       uint16 `json:"port"`
	Database   string `json:"database"`
	Schema     string `json:"schema"`
	Table      string `json:"table_name"`
	SelfSigned bool   `json:"has_self_signed_cert"`
	SSLMode    string `json:"sslmode"`

	guard guard
	roots *x509.CertPool
}

func (r *Runner) openPostgres(d batchexports.ExportDestination) (destination, error) {
	b := &database{Port: 5432, Schema: "public", Table: "events", guard: r.guard, roots: r.RootCAs}
	if err := settings(d, b); err != nil {
		return nil, err
	}
	if strings.HasPrefix(b.Host, "/") || strings.HasPrefix(b.Host, "@") || strings.ContainsAny(b.Host, "\x00,") {
		return nil, rejectf("host is not the name or the address of one server.")
	}
	for _, text := range []string{b.User, b.Password, b.Database, b.Schema, b.Table} {
		if strings.Contains(text, "\x00") {
			return nil, rejectf("Configuration must not contain NUL.")
		}
	}
	return b, nil
}

// connect opens a connection. The default of sslmode is require: TLS is used. With prefer, it falls
// back to plain text if the server does not support TLS (an attacker on the network can pretend
// that), and with disable it does not use TLS. The certificate must be valid unless
// has_self_signed_cert is set. Of the environment, pgx reads some variables, and this function
// overwrites all of them.
func (b *database) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("host=localhost port=5432 user=user password=password dbname=database sslmode=disable")
	if err != nil {
		return nil, errors.New("the environment variables for PostgreSQL cannot be read") // the error may include their values
	}
	config.Host, config.Port, config.Database = b.Host, b.Port, b.Database
	config.User, config.Password = b.User, b.Password
	config.Fallbacks, config.KerberosSrvName = nil, ""
	config.RuntimeParams = map[string]string{"application_name": "bunting", "client_encoding": "UTF8"}
	config.ConnectTimeout = b.guard.timeout
	config.DialFunc = b.guard.dial
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // dial resolves the name
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	build := config.BuildFrontend
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := build(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	if b.SSLMode != batchexports.SSLDisable {
		config.TLSConfig = &tls.Config{ServerName: b.Host, RootCAs: b.roots, InsecureSkipVerify: b.SelfSigned}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil || config.TLSConfig == nil || !strings.HasSuffix(err.Error(), noTLS) {
		return conn, err
	}
	if b.SSLMode != batchexports.SSLPrefer {
		return nil, rejectf("PostgreSQL does not speak TLS there, and without it the password and the events would be sent in plain text. To have that, set 'sslmode' to prefer or disable.")
	}
	config.TLSConfig = nil
	return pgx.ConnectConfig(ctx, config)
}

// noTLS ends pgx's error about a server that does not support TLS.
const noTLS = "server refused TLS connection"

// withConnection calls do with a connection that it closes afterwards.
func (b *database) withConnection(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	err = do(conn)
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), testTimeout)
	defer cancel()
	_ = conn.Close(ended) // everything important has been committed
	return err
}

// name returns the quoted name of a table in the schema.
func (b *database) name(table string) string { return pgx.Identifier{b.Schema, table}.Sanitize() }

func (b *database) needs(bool) []string {
	return []string{"user", b.User, "host", b.Host, "database", b.Database}
}
func (b *database) secrets() []string { return []string{b.Password, b.User} }
func (b *database) close()            {}

func (b *database) steps() []func(context.Context) error {
	exec := func(format string) func(context.Context) error {
		return func(ctx context.Context) error {
			return b.withConnection(ctx, func(conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, fmt.Sprintf(format, b.name(testName)), pgx.QueryExecModeSimpleProtocol)
				return err
			})
		}
	}
	return []func(context.Context) error{
		func(ctx context.Context) error {
			return b.guard.testDial(ctx, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
		},
		func(ctx context.Context) error {
			return b.withConnection(ctx, func(conn *pgx.Conn) error {
				var exists bool
				err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)", b.Schema).Scan(&exists)
				if err == nil && !exists {
					err = rejectf("There is no schema %q in the database.", b.Schema)
				}
				return err
			})
		},
		exec("CREATE TABLE IF NOT EXISTS %[1]s (n bigint); INSERT INTO %[1]s VALUES (1)"),
		exec("DROP TABLE IF EXISTS %s"),
	}
}

// explain explains an error of PostgreSQL. Errors of the connection, of resources, of an operator
// and of other transactions are temporary.
func (b *database) explain(err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return explainConnect(err)
	}
	switch pgErr.Code {
	case "42P10": // no index for ON CONFLICT
		return rejectf("Table %s has no unique index on the columns that make a row the same one: make one, or let the export make the table.", b.name(b.Table))
	case "28P01", "28000":
		return rejectf("PostgreSQL does not take the user or the password.")
	case "3D000":
		return rejectf("PostgreSQL has no database %q.", b.Database)
	}
	switch text := fmt.Sprintf("PostgreSQL says: %s (SQLSTATE %s)", pgErr.Message, pgErr.Code); pgErr.Code[:min(2, len(pgErr.Code))] {
	case "08", "40", "53", "55", "57", "58", "XX":
		return errors.New(text)
	default:
		return rejectf("%s", text)
	}
}

// explainConnect explains an error without the user and the host, which pgx includes.
func explainConnect(err error) error {
	var connect *pgconn.ConnectError
	var dial *net.OpError
	var name *net.DNSError
	explained := explainNet(err)
	if isRejected(explained) || !errors.As(err, &connect) || errors.As(err, &dial) || errors.As(err, &name) {
		return explained
	}
	return errors.New("PostgreSQL cannot be reached")
}

// Command s3server is a server of S3 for tests: Versity's gateway, which stores objects as files of a
// folder. It is a separate module, so that the product does not get the server's dependencies.
//
//	s3server DIR
//
// It prints its URL and runs until its standard input ends. The keys are in AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, the region is us-east-1, and each folder in DIR is a bucket.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: s3server DIR")
	}
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(dir string) error {
	objects, attributes := filepath.Join(dir, "objects"), filepath.Join(dir, "attributes")
	for _, folder := range []string{objects, attributes} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	// Some file systems have no extended attributes.
	metadata, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	backend, err := posix.New(objects, metadata, posix.PosixOpts{SideCarDir: attributes})
	if err != nil {
		return err
	}
	root := middlewares.RootUserConfig{Access: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	accounts := auth.NewIAMServiceSingle(auth.Account{Access: root.Access, Secret: root.Secret, Role: auth.RoleAdmin})
	address, err := freeAddress()
	if err != nil {
		return err
	}
	server, err := s3api.New(backend, root, "us-east-1", accounts, nil, nil, nil, nil,
		s3api.WithQuiet(), s3api.WithKeepAlive(), s3api.WithConcurrencyLimiter(1000, 1000), s3api.WithOnListen(func() { fmt.Println("http://" + address) }))
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return server.ServeMultiPort([]string{address})
}

// freeAddress returns an address on which nobody listens: the server cannot choose one itself.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

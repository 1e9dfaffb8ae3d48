package mps

import (
	"context"
	"errors"
	"fmt"
)

// CreateNamespace makes a namespace of a server. It has no limits until SetNamespace:
// a client there may use the whole GPU whatever the server's own limits are.
func (v V3) CreateNamespace(ctx context.Context, server, name string) (V3Reply, error) {
	if err := checkNamespace(server, name); err != nil {
		return V3Reply{}, err
	}
	args := option([]string{"namespace", "create", name}, "server", server)
	return v.write(ctx, args, lookNamespace(server, name, true))
}

// DeleteNamespace removes a namespace. With force it does so even if it has clients.
func (v V3) DeleteNamespace(ctx context.Context, server, name string, force bool) (V3Reply, error) {
	if err := checkNamespace(server, name); err != nil {
		return V3Reply{}, err
	}
	args := option([]string{"namespace", "delete", name}, "server", server)
	return v.write(ctx, forced(args, force), lookNamespace(server, name, false))
}

// SetNamespace sets limits of a namespace, which count instead of what a client asks
// for in its environment.
func (v V3) SetNamespace(ctx context.Context, server, name string, l V3Limits) (V3Reply, error) {
	if err := errors.Join(checkNamespace(server, name), l.check()); err != nil {
		return V3Reply{}, err
	}
	if l.isZero() {
		return V3Reply{}, fmt.Errorf("%w: nothing to set of namespace %s", ErrInput, name)
	}
	args := l.options(option([]string{"namespace", "set", name}, "server", server))
	return v.write(ctx, args, func(ctx context.Context, v V3) (proof, error) {
		return l.look(ctx, v, name, server)
	})
}

// NamespaceField is one value of a namespace as told: name, server, server-status,
// pipe-directory, pinned-memory-limit, active-thread-percentage or client-priority.
func (v V3) NamespaceField(ctx context.Context, server, name, field string) (string, error) {
	err := errors.Join(checkNamespace(server, name), checkV3Field(field, "name", "server", "server-status",
		"pipe-directory", "pinned-memory-limit", "active-thread-percentage", "client-priority"))
	if err != nil {
		return "", err
	}
	return v.get(ctx, "namespace", "get", name, server, field)
}

func checkNamespace(server, name string) error {
	return errors.Join(checkV3Name("server", server), checkV3Name("namespace", name))
}

func lookNamespace(server, name string, want bool) func(context.Context, V3) (proof, error) {
	return func(ctx context.Context, v V3) (proof, error) {
		list, err := v.Namespaces(ctx, server)
		found := false
		for _, n := range list {
			found = found || n.Name == name && n.Server == server
		}
		return agree(found == want), err
	}
}

package nodeapi

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

const (
	maxLeaving = 64               // locations in one call
	maxDrain   = 10 * time.Minute // that an instance may ask for
)

// leaving is what an instance says when it goes.
type leaving struct {
	node, token, instance string
	locations             []string
	drain                 time.Duration // zero: gone for good
}

// leave handles POST /erupt-cloud-api/remove-instance-node. With locations exactly these leave, and unknown ones are no
// error; without any the node's instances are checked at once in the background. With a drain time they leave the routing
// only, until they say goodbye without one (A8, A9).
func (a *API) leave(c *gin.Context) error {
	body, err := readBody(c, maxForm)
	if err != nil {
		return err
	}
	l, err := decodeLeaving(string(body), c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	if err := a.limit(c, "leave\x00"+l.node+"\x00"+strings.Join(l.locations, ",")+l.instance); err != nil {
		return err
	}
	ctx, cancel := deadline(c)
	defer cancel()
	node, err := a.o.Nodes.Authenticate(ctx, l.node, l.token)
	if err != nil {
		return err
	}
	// After the token, unlike erupt, which lets anybody set off a deployment's own steps.
	if err := a.o.Hook.RemoveNode(ctx, node.Name, c.Request); err != nil {
		return refusedByHook(err)
	}
	if err := a.part(ctx, node.Name, l, web.ClientIP(c.Request)); err != nil {
		return err
	}
	return done(c)
}

func (a *API) part(ctx context.Context, node string, l leaving, peer string) error {
	locations := l.locations
	if len(locations) == 0 && l.instance != "" {
		if in, ok := a.o.Instance(registry.Key{App: strings.ToUpper(node), ID: l.instance}); ok {
			locations = in.Locations
		}
	}
	log := a.o.Logger.With("node", node, "locations", locations, "peer", peer, "request_id", web.RequestID(ctx))
	switch {
	case len(locations) == 0:
		a.o.Survival.Trigger(node)
		log.InfoContext(ctx, "an instance leaves and does not say which: its node's instances are checked")
		return nil
	case l.drain > 0:
		if err := a.o.Registry.Drain(ctx, node, locations, a.o.Now().Add(l.drain)); err != nil {
			return err
		}
		log.InfoContext(ctx, "instance drains", "for", l.drain)
		return nil
	}
	removed, err := a.o.Registry.RemoveLocations(ctx, node, locations, registry.Leave)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "instance left", "removed", removed)
	return nil
}

// decodeLeaving reads the form, whatever its content type, and where it says nothing the query, as Java does.
func decodeLeaving(body, query string) (leaving, error) {
	form, err := url.ParseQuery(strings.TrimSpace(body))
	if err != nil {
		return leaving{}, fault.New(fault.Invalid, "the form is not encoded correctly").Because(err)
	}
	if in, err := url.ParseQuery(query); err == nil {
		for name, values := range in {
			if !form.Has(name) {
				form[name] = values
			}
		}
	}
	l := leaving{node: form.Get(wire.FormNode), token: form.Get(wire.FormToken), instance: form.Get(wire.FormInstance)}
	if l.node == "" {
		return leaving{}, wrong(wire.FormNode, "is missing")
	}
	for name, value := range map[string]string{wire.FormNode: l.node, wire.FormToken: l.token, wire.FormInstance: l.instance} {
		if err := checkText(name, value); err != nil {
			return leaving{}, err
		}
	}
	if l.locations, err = decodeLocations(form.Get(wire.FormLocations)); err != nil {
		return leaving{}, err
	}
	l.drain, err = decodeDrain(form.Get(wire.FormDrain))
	return l, err
}

// decodeLocations splits a comma separated list. An entry that is no address cannot be in the registry and is kept as it
// stands: removing it removes nothing.
func decodeLocations(list string) ([]string, error) {
	var locations []string
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		if l, err := probe.CanonicalLocation(entry); err == nil {
			entry = l
		}
		if locations = append(locations, entry); len(locations) > maxLeaving {
			return nil, tooLarge(wire.FormLocations, "%d addresses", maxLeaving)
		}
	}
	return locations, nil
}

// decodeDrain reads milliseconds.
func decodeDrain(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 {
		return 0, wrong(wire.FormDrain, "must be a number of milliseconds")
	}
	return min(time.Duration(min(ms, maxDrain.Milliseconds()))*time.Millisecond, maxDrain), nil
}

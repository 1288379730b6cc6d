// Package ids encodes and decodes the ids of services, instances and endpoints of
// Apache SkyWalking.
//
//	service   base64(name) "." ("1": reports itself, "0": known from its callers only)
//	instance  service "_" base64(name)
//	endpoint  service "_" base64(name)
//
// base64 is the standard alphabet with padding, which has neither "." nor "_". A name
// is always cut to its limit before it becomes an id, and a blank name becomes Blank,
// so that agents, segments and clients that compute ids agree. SkyWalking's OAP cuts
// only names of segments and of management, so that its long names never match a task.
package ids

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/traceprof"
)

// Blank stands for a name that is empty or white space.
const Blank = "_blank"

// ServiceName returns the name under which a service is stored.
func ServiceName(name string) string { return clean(name, traceprof.MaxServiceName) }

// InstanceName returns the name under which an instance is stored.
func InstanceName(name string) string { return clean(name, traceprof.MaxInstanceName) }

// EndpointName returns the name under which an endpoint of a segment is stored.
func EndpointName(name string) string { return clean(name, traceprof.MaxEndpointName) }

func clean(name string, most int) string {
	if strings.TrimSpace(name) == "" {
		return Blank
	}
	return traceprof.CutName(name, most)
}

// Service returns the id of a service that reports itself.
func Service(name string) string { return encode(ServiceName(name)) + ".1" }

// Instance returns the id of an instance of the service with that name.
func Instance(service, name string) string {
	return Service(service) + "_" + encode(InstanceName(name))
}

// Endpoint returns the id of an endpoint of the service with that name.
func Endpoint(service, name string) string {
	return Service(service) + "_" + encode(EndpointName(name))
}

func encode(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

// ErrForm is wrapped by the errors about texts that are not ids.
var ErrForm = errors.New("not an id")

// ParseService returns the name of a service, cut to its limit.
func ParseService(id string) (name string, err error) {
	text, kind, ok := strings.Cut(id, ".")
	if !ok || kind != "0" && kind != "1" {
		return "", fmt.Errorf("service id %.200q: %w (base64 of the name, then .1 or .0)", id, ErrForm)
	}
	if name, err = decode(text); err != nil {
		return "", fmt.Errorf("service id %.200q: %w", id, err)
	}
	return ServiceName(name), nil
}

// ParseInstance returns the names of an instance and its service.
func ParseInstance(id string) (service, name string, err error) {
	if service, name, err = parsePart(id); err != nil {
		return "", "", fmt.Errorf("instance id %.200q: %w", id, err)
	}
	return service, InstanceName(name), nil
}

// ParseEndpoint returns the names of an endpoint and its service.
func ParseEndpoint(id string) (service, name string, err error) {
	if service, name, err = parsePart(id); err != nil {
		return "", "", fmt.Errorf("endpoint id %.200q: %w", id, err)
	}
	return service, EndpointName(name), nil
}

func parsePart(id string) (service, name string, err error) {
	head, text, ok := strings.Cut(id, "_")
	if !ok {
		return "", "", fmt.Errorf("%w (a service id, _, base64 of the name)", ErrForm)
	}
	if service, err = ParseService(head); err != nil {
		return "", "", err
	}
	name, err = decode(text)
	return service, name, err
}

func decode(text string) (string, error) {
	name, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("%w: %.200q is not base64", ErrForm, text)
	}
	return string(name), nil
}

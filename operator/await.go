package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
)

// kindsPatience is how long it is waited for Kubernetes to know the kinds of this
// operator. It takes some seconds to do so after they were applied.
const kindsPatience = 30 * time.Second

// awaitKinds waits until Kubernetes knows all kinds.
func awaitKinds(ctx context.Context, mapper meta.RESTMapper) error {
	limited, cancel := context.WithTimeout(ctx, kindsPatience)
	defer cancel()
	for _, k := range kinds {
		var unknown error
		err := wait.PollUntilContextCancel(limited, time.Second, true, func(context.Context) (bool, error) {
			_, unknown = mapper.RESTMapping(api.GroupVersion.WithKind(k.Name).GroupKind(), api.Version)
			if kube.Unknown(unknown) {
				return false, nil
			}
			return unknown == nil, unknown
		})
		if err != nil && ctx.Err() == nil && kube.Unknown(unknown) {
			err = errors.Join(unknown, errors.New("this Kubernetes doesn't know the kinds of infra.virtrigaud.io yet: kubectl apply -f deploy/crds"))
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.Name, err)
		}
	}
	return nil
}

package join

import (
	"context"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/kube"
)

// Setup adds controllers to a manager that approve the certificates of a door's machines, and delete tokens
// that aren't needed any more. Both run in the elected replica only.
func Setup(mgr manager.Manager, tokens *Tokens, machines Machines) error {
	pending := predicate.NewPredicateFuncs(func(o client.Object) bool {
		csr, ok := o.(*certv1.CertificateSigningRequest)
		return ok && undecided(csr) && Read(csr) != nil
	})
	err := ctrl.NewControllerManagedBy(mgr).Named(tokens.Door+"-certificates").
		For(&certv1.CertificateSigningRequest{}, builder.WithPredicates(pending)).
		WithOptions(kube.Options(approvers)).
		Complete(&approver{Client: mgr.GetClient(), tokens: tokens, machines: machines})
	if err != nil {
		return err
	}
	created := predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	// However many Nodes come at once, the tokens are looked through once for all of them.
	all := handler.Funcs{CreateFunc: func(_ context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: "tokens"}}, soon)
	}}
	return ctrl.NewControllerManagedBy(mgr).Named(tokens.Door+"-tokens").
		Watches(&corev1.Node{}, all, builder.WithPredicates(created)).
		WithOptions(kube.Options(1)).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			left, err := tokens.Prune(ctx, mgr.GetClient(), machines)
			if err != nil || left == 0 {
				return reconcile.Result{}, err
			}
			return reconcile.Result{RequeueAfter: pruneEvery}, nil
		}))
}

// approvers is how many certificates are decided about at once: many machines may boot together.
const approvers = 8

// How soon tokens are looked through after a Node has come, and how often as long as there are any. Where many machines join together, those that haven't
// joined yet come first.
const (
	soon       = 10 * time.Second
	pruneEvery = 5 * time.Minute
)

// undecided reports whether a request is neither approved nor denied.
func undecided(csr *certv1.CertificateSigningRequest) bool {
	for _, c := range csr.Status.Conditions {
		if c.Type == certv1.CertificateApproved || c.Type == certv1.CertificateDenied {
			return false
		}
	}
	return true
}

// approver decides about the certificates that kubelets ask for.
type approver struct {
	client.Client
	tokens   *Tokens
	machines Machines
}

// Reconcile decides about one request.
func (a *approver) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var csr certv1.CertificateSigningRequest
	if err := a.Get(ctx, r.NamespacedName, &csr); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	request := Read(&csr)
	if request == nil || !undecided(&csr) {
		return reconcile.Result{}, nil
	}
	verdict, err := a.judge(ctx, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	l := log.FromContext(ctx).WithValues("node", request.Node, "serving", request.Serving)
	switch verdict.Answer {
	case Ignore:
		return reconcile.Result{}, nil
	case Wait:
		l.Info("a certificate waits", "reason", verdict.Why)
		return reconcile.Result{RequeueAfter: patience(time.Since(csr.CreationTimestamp.Time))}, nil
	case Approve, Deny:
	}
	l.Info("decided about a certificate", "approved", verdict.Answer == Approve, "reason", verdict.Why)
	return reconcile.Result{}, a.answer(ctx, &csr, verdict)
}

func (a *approver) judge(ctx context.Context, r *Request) (Verdict, error) {
	var owner *Machine
	var err error
	if r.Token != "" {
		if owner, err = a.tokens.Owner(ctx, r.Token); err != nil {
			return Verdict{}, err
		}
		if owner == nil {
			return r.Judge(nil, nil), nil
		}
	}
	machine, err := a.machines.ByNode(ctx, r.Node)
	if err != nil {
		return Verdict{}, err
	}
	return r.Judge(machine, owner), nil
}

// answer writes a verdict into the request.
func (a *approver) answer(ctx context.Context, csr *certv1.CertificateSigningRequest, v Verdict) error {
	condition := certv1.CertificateSigningRequestCondition{
		Type: certv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ProxplaneApproved", Message: "proxplane: " + v.Why, LastUpdateTime: metav1.Now(),
	}
	if v.Answer == Deny {
		condition.Type, condition.Reason = certv1.CertificateDenied, "ProxplaneDenied"
	}
	csr.Status.Conditions = append(csr.Status.Conditions, condition)
	err := a.SubResource("approval").Update(ctx, csr)
	if apierrors.IsConflict(err) { // somebody else has decided; if not, the next event tells
		return nil
	}
	return client.IgnoreNotFound(err)
}

// patience is when to look again at a request that is as old: soon at first, and more and more rarely.
func patience(age time.Duration) time.Duration {
	return min(max(age/2, 2*time.Second), 5*time.Minute)
}

//! Published keys, from a small issuer on loopback that counts what it is asked.

use std::{
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use jsonwebtoken::jwk::Jwk;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};

use super::*;
use crate::domain::egress::Egress;

/// What the issuer answers: a whole HTTP response, or nothing (it hangs up).
type Answer = Option<String>;

struct Issuer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    answer: Mutex<Answer>,
    asked: AtomicUsize,
    /// One permit per answer; plenty, unless a test holds the issuer back.
    turn: Semaphore,
}

impl Issuer {
    async fn publishing(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            answer: Mutex::new(None),
            asked: AtomicUsize::new(0),
            turn: Semaphore::new(1_000),
        });
        let mut tasks = JoinSet::new();
        let (address, serving) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        let issuer = Self { address, shared, _tasks: tasks };
        issuer.publish(keys);
        issuer
    }

    fn publish(&self, keys: &[Value]) {
        self.answer(Some(ok(&json!({ "keys": keys }).to_string())));
    }

    fn answer(&self, answer: Answer) {
        *self.shared.answer.lock().unwrap() = answer;
    }

    fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    fn verifier(&self, algorithm: Option<KeyAlgorithm>) -> Verifier {
        let url = format!("http://{}/keys?secret=1", self.address).parse().unwrap();
        Verifier::new(settings(KeySource::Jwks { url, algorithm, guard: Guard::default() }))
            .ok()
            .unwrap()
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    shared.asked.fetch_add(1, Ordering::SeqCst);
    shared.turn.acquire().await.unwrap().forget();
    let answer = shared.answer.lock().unwrap().clone();
    if let Some(answer) = answer {
        // A client that has read enough hangs up: not this server's concern.
        drop(stream.write_all(answer.as_bytes()).await);
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn published(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Value {
    install_crypto();
    let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    jwk.common.key_id = Some(kid.to_owned());
    serde_json::to_value(jwk).unwrap()
}

fn ec(pem: &str) -> EncodingKey {
    EncodingKey::from_ec_pem(pem.as_bytes()).unwrap()
}

/// One P-256 key under the name "a", and a token it signed.
fn first() -> (Value, String) {
    let key = ec(keys::EC_PRIVATE);
    (published(&key, Algorithm::ES256, "a"), signed(&key, Algorithm::ES256, Some("a")))
}

/// Another under "b".
fn second() -> (Value, String) {
    let key = ec(keys::EC_OTHER_PRIVATE);
    (published(&key, Algorithm::ES256, "b"), signed(&key, Algorithm::ES256, Some("b")))
}

#[tokio::test]
async fn every_algorithm_verifies_by_a_published_key() {
    let private = private_keys();
    let set: Vec<Value> =
        private.iter().map(|(name, jws, key, _)| published(key, *jws, name.as_str())).collect();
    let issuer = Issuer::publishing(&set).await;
    let all = issuer.verifier(None);
    let ec_only = issuer.verifier(Some(KeyAlgorithm::Es256));
    for (name, jws, key, _) in &private {
        let token = signed(key, *jws, Some(name.as_str()));
        assert!(all.verify(&token, now()).await.is_ok(), "{name}");
        // Without `kid` too, since there is one key of each algorithm.
        assert!(all.verify(&signed(key, *jws, None), now()).await.is_ok(), "{name}");
        let taken = ec_only.verify(&token, now()).await;
        assert_eq!(taken.is_ok(), *name == KeyAlgorithm::Es256, "{name}: {taken:?}");
    }
    // The right key under another key's name.
    let lying = signed(&private[0].2, Algorithm::RS256, Some("ES256"));
    let error = all.verify(&lying, now()).await.unwrap_err();
    assert!(matches!(error, AuthError::Malformed(_)), "{error}");
    assert_eq!(issuer.asked(), 2, "once each: two unknown names within the pause ask nothing");
}

#[tokio::test]
async fn an_unknown_key_asks_once_and_not_per_token() {
    let ((a, token_a), (_, token_b)) = (first(), second());
    let issuer = Issuer::publishing(&[a]).await;
    let verifier = issuer.verifier(None);
    verifier.verify(&token_a, now()).await.unwrap();
    assert_eq!(issuer.asked(), 1);
    // Just after the first fetch nothing is asked; half a minute later once, for all together.
    let early = verifier.verify(&token_b, after(29)).await;
    assert_eq!((early, issuer.asked()), (Err(AuthError::UnknownKey), 1));
    for _ in 0..3 {
        let answers = join_all((0..50).map(|_| verifier.verify(&token_b, after(30)))).await;
        assert!(answers.iter().all(|answer| *answer == Err(AuthError::UnknownKey)));
        assert_eq!(issuer.asked(), 2);
    }
    // Names that look like paths or queries are only names.
    for kid in ["../../etc/passwd", "' OR 1=1 --", "http://127.0.0.1/", ""] {
        let odd = signed(&ec(keys::EC_PRIVATE), Algorithm::ES256, Some(kid));
        assert_eq!(verifier.verify(&odd, after(40)).await, Err(AuthError::UnknownKey), "{kid}");
    }
    assert!(verifier.verify(&token_a, after(40)).await.is_ok());
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn the_first_tokens_share_one_fetch() {
    let (a, token) = first();
    let issuer = Issuer::publishing(&[a]).await;
    let verifier = issuer.verifier(None);
    let answers = join_all((0..50).map(|_| verifier.verify(&token, now()))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn rotation_brings_the_new_key_in_and_takes_the_old_one_out() {
    let ((a, token_a), (b, token_b)) = (first(), second());
    let issuer = Issuer::publishing(std::slice::from_ref(&a)).await;
    let verifier = issuer.verifier(None);
    assert!(verifier.verify(&token_a, now()).await.is_ok());
    issuer.publish(&[a, b.clone()]);
    assert!(verifier.verify(&token_b, after(31)).await.is_ok(), "found by its unknown name");
    assert!(verifier.verify(&token_a, after(31)).await.is_ok());
    issuer.publish(&[b]);
    assert!(verifier.verify(&token_a, after(600)).await.is_ok(), "not asked within the hour");
    // Known to the cache, and refused all the same once its key is gone.
    let gone = verifier.verify(&token_a, after(3_631)).await;
    assert_eq!(gone, Err(AuthError::UnknownKey));
    assert!(verifier.verify(&token_b, after(3_631)).await.is_ok());
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test]
async fn keys_are_kept_while_the_issuer_is_down() {
    let (a, token) = first();
    let issuer = Issuer::publishing(&[a]).await;
    let verifier = issuer.verifier(None);
    verifier.verify(&token, now()).await.unwrap();
    let not_found = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let useless = [None, Some(not_found.to_owned()), Some(ok("{}")), Some(ok(r#"{"keys":[]}"#))];
    for (answer, minute) in useless.into_iter().zip(1..) {
        issuer.answer(answer);
        let stale = after(3_540 + 60 * minute);
        assert!(verifier.verify(&token, stale).await.is_ok());
        assert!(verifier.verify(&token, stale).await.is_ok());
    }
    assert_eq!(issuer.asked(), 5, "one more in each minute");
    // Nobody listens there any more.
    drop(issuer);
    assert!(verifier.verify(&token, after(3_810)).await.is_ok());
}

#[tokio::test]
async fn answers_that_cannot_be_used_leave_no_keys() {
    let (a, token) = first();
    let set = |keys: &[Value]| json!({ "keys": keys }).to_string();
    let elsewhere = Issuer::publishing(std::slice::from_ref(&a)).await;
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        elsewhere.address
    );
    let padded = json!({ "keys": [a], "pad": "x".repeat(256 * 1024) }).to_string();
    // Chunked, so that no Content-Length warns of the size.
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{padded}\r\n0\r\n\r\n",
        padded.len()
    );
    let useless = [
        None,
        Some(redirect),
        Some(ok("")),
        Some(ok("[]")),
        Some(ok(&set(&[]))),
        Some(ok(&set(&vec![a.clone(); 65]))),
        Some(ok(&padded)),
        Some(chunked),
        Some("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned()),
    ];
    let issuer = Issuer::publishing(&[]).await;
    let verifier = issuer.verifier(None);
    for (answer, i) in useless.into_iter().zip(0..) {
        issuer.answer(answer);
        let error = verifier.verify(&token, after(5 * i)).await;
        assert_eq!(error, Err(AuthError::KeysUnavailable), "{i}");
    }
    assert_eq!((issuer.asked(), elsewhere.asked()), (9, 0));
    issuer.publish(&[a]);
    let soon = verifier.verify(&token, after(44)).await;
    assert_eq!(soon, Err(AuthError::KeysUnavailable), "asked 4 s ago");
    assert!(verifier.verify(&token, after(45)).await.is_ok());
}

/// Keys that would panic, weaken or confuse a verification are passed over, one by one.
#[tokio::test]
async fn unsound_keys_are_passed_over() {
    let (a, token) = first();
    let with = |changes: Value| {
        let mut key = a.clone();
        for (name, value) in changes.as_object().unwrap() {
            key[name] = value.clone();
        }
        key
    };
    let short = part([7; 31]);
    let weak = jsonwebtoken::DecodingKey::from_rsa_pem(keys::RSA_1024_PUBLIC.as_bytes()).unwrap();
    let mut weak = serde_json::to_value(Jwk::from_decoding_key(&weak, None).unwrap()).unwrap();
    weak["kid"] = json!("a");
    let unsound = [
        with(json!({ "use": "enc" })),
        with(json!({ "key_ops": ["encrypt"] })),
        with(json!({ "alg": "HS256" })),
        with(json!({ "alg": "none" })),
        with(json!({ "crv": "P-384" })),
        with(json!({ "kty": "RSA" })),
        with(json!({ "x": short })),
        with(json!({ "y": a["x"] })),
        with(json!({ "x": "!" })),
        with(json!({ "kid": 7 })),
        json!({ "kty": "oct", "kid": "a", "alg": "HS256", "k": part(SECRET) }),
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "a", "x": short }),
        json!({ "kty": "OKP", "crv": "X25519", "kid": "a", "x": part([7; 32]) }),
        json!({ "kty": "RSA", "kid": "a", "n": "", "e": "AQAB" }),
        weak,
        json!("a"),
        json!(null),
    ];
    let issuer = Issuer::publishing(&[]).await;
    for key in &unsound {
        issuer.publish(std::slice::from_ref(key));
        let error = issuer.verifier(None).verify(&token, now()).await;
        assert_eq!(error, Err(AuthError::KeysUnavailable), "{key}");
    }
    let mut set = unsound.to_vec();
    set.push(a.clone());
    issuer.publish(&set);
    let verifier = issuer.verifier(None);
    assert!(verifier.verify(&token, now()).await.is_ok());
    let symmetric = forge(r#"{"alg":"HS256","kid":"a"}"#, &claims(json!({})).to_string(), SECRET);
    let error = verifier.verify(&symmetric, now()).await.unwrap_err();
    assert!(matches!(error, AuthError::Malformed(_)), "{error}");
}

#[tokio::test]
async fn without_a_name_there_must_be_no_choice() {
    let ((a, _), (b, _)) = (first(), second());
    let issuer = Issuer::publishing(&[a, b]).await;
    let nameless = signed(&ec(keys::EC_PRIVATE), Algorithm::ES256, None);
    let error = issuer.verifier(None).verify(&nameless, now()).await.unwrap_err();
    assert!(matches!(error, AuthError::Malformed(_)), "{error}");
}

/// A caller that hangs up during the fetch must not take the fetch with it.
#[tokio::test]
async fn a_fetch_outlives_its_caller() {
    let (a, token) = first();
    let issuer = Issuer::publishing(&[a]).await;
    let verifier = issuer.verifier(None);
    let held = issuer.shared.turn.acquire_many(1_000).await.unwrap();
    let asked = async {
        while issuer.asked() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = verifier.verify(&token, now()) => panic!("the issuer is held back"),
        done = tokio::time::timeout(Duration::from_secs(4), asked) => done.unwrap(),
    }
    drop(held);
    assert!(verifier.verify(&token, now()).await.is_ok());
    assert_eq!(issuer.asked(), 1);
}

#[test]
fn the_url_of_the_keys_may_be_private_and_is_guarded_all_the_same() {
    let told = |url: &str, deny: &[&str]| {
        let deny = deny.iter().map(|place| place.parse().unwrap()).collect();
        let guard = Guard::new(Egress { deny, ..Egress::default() }, None);
        let url = url.parse().unwrap();
        let error = Verifier::new(settings(KeySource::Jwks { url, algorithm: None, guard })).err();
        error.map(|error| error.to_string())
    };
    for url in ["https://10.0.0.1/keys", "http://localhost:8080/", "https://idp.internal/keys"] {
        assert_eq!(told(url, &[]), None, "{url}");
    }
    for url in ["http://169.254.169.254/", "http://metadata.google.internal/", "http://0/"] {
        assert!(told(url, &[]).unwrap().contains("may not be called"), "{url}");
    }
    assert!(told("https://10.0.0.1/keys", &["10.0.0.0/8"]).unwrap().contains("AXLE_TARGET_DENY"));
}

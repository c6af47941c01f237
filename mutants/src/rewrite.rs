//! Rewrites a source file so that each small change of it is there behind a switch.
//!
//! A change is made of the syntax alone: an operator for its neighbor, a condition for its opposite, a body for a
//! plain value, an arm of a `match` that never fits. Tests, constants and output are left as they are.
//!
//! Must never: change what the code does while all switches are off.

use std::fmt;
use std::path::Path;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprConst, ExprMatch, ExprMethodCall,
    ExprRepeat, Ident, ImplItem, Item, ItemFn, ItemImpl, Pat, ReturnType, Signature, Type, UnOp,
    parse_quote,
};

use crate::Error;

/// The characters of code that name a change.
const CODE_CHARS_MAX: usize = 100;
/// Traits whose implementations only show or clean up.
const LEFT_OUT: [&str; 4] = ["Debug", "Display", "Drop", "Error"];

/// One small change of the code.
pub(crate) struct Mutant {
    /// From one on; the switch knows it by this number.
    pub(crate) number: usize,
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The function and the change, stable while the code around it moves.
    pub(crate) change: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}\t{}", self.file, self.line, self.change)
    }
}

/// Rewrites a file of the tree, and adds its changes to the list.
pub(crate) fn file(tree: &Path, file: &str, mutants: &mut Vec<Mutant>) -> Result<(), Error> {
    let path = tree.join(file);
    let source = std::fs::read_to_string(&path)?;
    let mut syntax = syn::parse_file(&source).map_err(|error| format!("{file}: {error}"))?;
    let is_lowest = file.starts_with("crates/protocol/");
    let mut rewriter = Rewriter { file, is_lowest, function: String::new(), mutants };
    rewriter.visit_file_mut(&mut syntax);
    std::fs::write(&path, prettyplease::unparse(&syntax))?;
    Ok(())
}

struct Rewriter<'a> {
    file: &'a str,
    /// True in the crate that has the switch.
    is_lowest: bool,
    function: String,
    mutants: &'a mut Vec<Mutant>,
}

impl Rewriter<'_> {
    /// Adds a change, and returns the expression that tells whether it is on.
    fn switch(&mut self, span: Span, change: &str) -> Expr {
        let number = self.mutants.len() + 1;
        self.mutants.push(Mutant {
            number,
            file: self.file.to_owned(),
            line: span.start().line,
            change: format!("{}: {change}", self.function),
        });
        if self.is_lowest {
            parse_quote!(crate::mutant(#number))
        } else {
            parse_quote!(agentry_protocol::mutant(#number))
        }
    }

    fn within(&mut self, signature: &Signature, block: &mut Block) {
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        self.visit_block_mut(block);
        if signature.asyncness.is_none() && signature.unsafety.is_none() && !block.stmts.is_empty()
        {
            for value in plain_values(&signature.output).into_iter().rev() {
                let on = self.switch(signature.ident.span(), &format!("return {}", code(&value)));
                block.stmts.insert(0, parse_quote!(if #on { return #value; }));
            }
        }
        self.function = outer;
    }

    fn binary(&mut self, binary: &mut ExprBinary) -> Option<Expr> {
        let (span, text) = (binary.span(), code(&*binary));
        self.visit_expr_mut(&mut binary.left);
        self.visit_expr_mut(&mut binary.right);
        if has_let(&binary.left) || has_let(&binary.right) {
            return None;
        }
        let joins_text = matches!(binary.op, BinOp::Add(_)) && text.contains('"');
        let other = neighbor(&binary.op).filter(|_| !joins_text)?;
        let on = self.switch(span, &format!("{} in {text}", code(&other)));
        let (left, right, op) = (&binary.left, &binary.right, &binary.op);
        Some(parse_quote!((if #on { (#left) #other (#right) } else { (#left) #op (#right) })))
    }

    fn method_call(&mut self, call: &mut ExprMethodCall) -> Option<Expr> {
        let (span, text) = (call.span(), code(&*call));
        visit_mut::visit_expr_method_call_mut(self, call);
        let name = match call.method.to_string().as_str() {
            "any" => "all",
            "all" => "any",
            "max" => "min",
            "min" => "max",
            "is_some_and" => "is_none_or",
            "is_none_or" => "is_some_and",
            "starts_with" => "ends_with",
            "ends_with" => "starts_with",
            "is_some" => "is_none",
            "is_none" => "is_some",
            "is_ok" => "is_err",
            "is_err" => "is_ok",
            _ => return None,
        };
        let mut other = call.clone();
        other.method = Ident::new(name, call.method.span());
        let on = self.switch(span, &format!("{name} in {text}"));
        Some(parse_quote!((if #on { #other } else { #call })))
    }

    fn arm(&mut self, arm: &mut Arm, has_rest: bool) {
        let span = arm.pat.span();
        match &mut arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let text = code(&arm.pat);
                let always = self.switch(span, &format!("always {text}"));
                let never = self.switch(span, &format!("never {text}"));
                **guard = parse_quote!((#always || (!#never && (#guard))));
            }
            None if has_rest && !is_rest(&arm.pat) => {
                let off = self.switch(span, &format!("without arm {}", code(&arm.pat)));
                arm.guard = Some((Default::default(), Box::new(parse_quote!(!#off))));
            }
            Some(_) | None => {}
        }
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_item_mut(&mut self, item: &mut Item) {
        let is_left_out = match item {
            Item::Fn(function) => is_test(&function.attrs) || function.sig.constness.is_some(),
            Item::Mod(module) => is_test(&module.attrs),
            Item::Impl(item) => is_test(&item.attrs) || is_shown_only(item),
            Item::Const(_) | Item::Static(_) | Item::Macro(_) | Item::Enum(_) | Item::Struct(_) => {
                true
            }
            _ => false,
        };
        if !is_left_out {
            visit_mut::visit_item_mut(self, item);
        }
    }

    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        self.within(&function.sig.clone(), &mut function.block);
    }

    fn visit_impl_item_mut(&mut self, item: &mut ImplItem) {
        if let ImplItem::Fn(function) = item
            && !is_test(&function.attrs)
            && function.sig.constness.is_none()
        {
            self.within(&function.sig.clone(), &mut function.block);
        }
    }

    // Constants stay constants.
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_expr_repeat_mut(&mut self, repeat: &mut ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_expr_match_mut(&mut self, item: &mut ExprMatch) {
        let has_rest = item.arms.iter().any(|arm| arm.guard.is_none() && is_rest(&arm.pat));
        // Before the arms, whose switches are not to be changed themselves.
        visit_mut::visit_expr_match_mut(self, item);
        for arm in &mut item.arms {
            self.arm(arm, has_rest);
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let changed = match expression {
            Expr::Binary(binary) => self.binary(binary),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let (span, text) = (unary.span(), code(&*unary));
                self.visit_expr_mut(&mut unary.expr);
                let inner = &unary.expr;
                let on = self.switch(span, &format!("without ! in {text}"));
                Some(parse_quote!((if #on { #inner } else { !(#inner) })))
            }
            Expr::Macro(item) if item.mac.path.is_ident("matches") => {
                let on = self.switch(item.span(), &format!("not {}", code(&*item)));
                Some(parse_quote!((#on ^ #item)))
            }
            Expr::If(item) => {
                visit_mut::visit_expr_if_mut(self, item);
                let is_plain =
                    matches!(&*item.cond, Expr::Call(_) | Expr::Path(_) | Expr::Field(_));
                if is_plain {
                    let condition = item.cond.clone();
                    let on = self.switch(condition.span(), &format!("if not {}", code(&condition)));
                    *item.cond = parse_quote!((#on ^ (#condition)));
                }
                None
            }
            _ => {
                visit_mut::visit_expr_mut(self, expression);
                None
            }
        };
        if let Some(changed) = changed {
            *expression = changed;
        }
    }
}

fn neighbor(op: &BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::Eq(_) => parse_quote!(!=),
        BinOp::Ne(_) => parse_quote!(==),
        BinOp::And(_) => parse_quote!(||),
        BinOp::Or(_) => parse_quote!(&&),
        BinOp::Lt(_) => parse_quote!(<=),
        BinOp::Le(_) => parse_quote!(<),
        BinOp::Gt(_) => parse_quote!(>=),
        BinOp::Ge(_) => parse_quote!(>),
        BinOp::Add(_) => parse_quote!(-),
        BinOp::BitAnd(_) => parse_quote!(|),
        BinOp::BitOr(_) => parse_quote!(&),
        _ => return None,
    })
}

/// Returns values that a function of this type could return without doing anything.
fn plain_values(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, output) = output else { return vec![parse_quote!(())] };
    let name = output.to_token_stream().to_string().replace(' ', "");
    let starts = |start: &str| name.starts_with(start);
    match name.as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "usize" | "u32" | "u64" => vec![parse_quote!(0), parse_quote!(1)],
        "String" => vec![parse_quote!(String::new())],
        "Verdict" => vec![parse_quote!(Verdict::Allow), parse_quote!(Verdict::Ask)],
        "io::Result<bool>" => vec![parse_quote!(Ok(true)), parse_quote!(Ok(false))],
        "io::Result<()>" => vec![parse_quote!(Ok(()))],
        _ if starts("Result<(),") => vec![parse_quote!(Ok(()))],
        _ if starts("io::Result<Option<") => vec![parse_quote!(Ok(None))],
        _ if starts("io::Result<Vec<") => vec![parse_quote!(Ok(Vec::new()))],
        _ if starts("Option<") => vec![parse_quote!(None)],
        _ if starts("Vec<") => vec![parse_quote!(Vec::new())],
        _ if starts("BTreeSet<") || starts("HashSet<") || starts("BTreeMap<") => {
            vec![parse_quote!(Default::default())]
        }
        _ => Vec::new(),
    }
}

/// Returns whether a pattern fits everything.
fn is_rest(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(ident) => {
            ident.subpat.is_none() && ident.ident.to_string().starts_with(char::is_lowercase)
        }
        _ => false,
    }
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text == "test"
            || text.starts_with("cfg (test")
            || text.starts_with("cfg (not (target_os = \"linux\"")
    })
}

fn is_shown_only(item: &ItemImpl) -> bool {
    let name = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
    name.is_some_and(|name| LEFT_OUT.contains(&name.ident.to_string().as_str()))
}

/// Returns code as one short line.
fn code(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string().replace(['\n', '\t'], " ");
    match text.char_indices().nth(CODE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(source: &str) -> (String, Vec<String>) {
        let place = tempfile::tempdir().expect("there is room");
        std::fs::write(place.path().join("a.rs"), source).expect("it is written");
        let mut mutants = Vec::new();
        file(place.path(), "a.rs", &mut mutants).expect("it is Rust");
        let text = std::fs::read_to_string(place.path().join("a.rs")).expect("it is there");
        (text, mutants.into_iter().map(|one| one.change).collect())
    }

    #[test]
    fn every_operator_condition_and_body_has_a_change() {
        let (text, changes) = rewritten(
            "fn f(a: u8, b: &[u8]) -> bool { if g(a) { return !b.is_empty(); } a == 1 && b.iter().any(|x| *x < a) }",
        );
        let expected = [
            "f: without ! in ! b . is_empty ()",
            "f: if not g (a)",
            "f: != in a == 1",
            "f: <= in * x < a",
            "f: all in b . iter () . any (| x | * x < a)",
            "f: || in a == 1 && b . iter () . any (| x | * x < a)",
            "f: return false",
            "f: return true",
        ];
        assert_eq!(changes, expected);
        for number in 1..=expected.len() {
            assert!(text.contains(&format!("agentry_protocol::mutant({number}usize)")), "{text}");
        }
    }

    #[test]
    fn an_arm_can_be_left_out_only_where_another_takes_its_place() {
        let (_, changes) =
            rewritten("fn f(a: u8) -> char { match a { 1 => 'a', 2 if a > 0 => 'b', _ => 'c' } }");
        let arms: Vec<&String> = changes.iter().filter(|change| !change.contains(" in ")).collect();
        assert_eq!(arms, ["f: without arm 1", "f: always 2", "f: never 2"]);
        let (_, changes) =
            rewritten("fn f(a: bool) -> char { match a { true => 'a', false => 'b' } }");
        assert_eq!(changes, [""; 0]);
    }

    #[test]
    fn tests_constants_and_output_are_left_as_they_are() {
        let (_, changes) = rewritten(
            "const A: bool = 1 == 2; const fn g() -> bool { 1 == 2 }
             impl Display for X { fn fmt(&self) -> bool { 1 == 2 } }
             #[cfg(test)] mod tests { fn f() -> bool { 1 == 2 } }
             fn f() -> [u8; 1 + 1] { if let Some(x) = h() && x { todo() } else { other() } }",
        );
        assert_eq!(changes, [""; 0]);
    }
}

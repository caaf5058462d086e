//! Action profiles: selection in proportion to weights, and references.

use forebay_bits::Bits;
use forebay_tables::{ActionCall, ActionId, ActionProfile, ActionRef, GroupId, MemberId, ProfileError};
use proptest::prelude::*;

const GROUP: GroupId = GroupId(1);

fn call(number: u32) -> ActionCall {
    ActionCall::new(ActionId(number), vec![Bits::new(9, number.into())])
}

/// A profile with members 0 to 7.
fn profile() -> ActionProfile {
    let mut profile = ActionProfile::new(8, 100);
    for id in 0..8 {
        profile.insert_member(MemberId(id), call(id)).unwrap();
    }
    profile
}

#[test]
fn weights_of_one_choose_as_bmv2() {
    let mut profile = profile();
    let members = [(MemberId(5), 1), (MemberId(2), 1), (MemberId(7), 1)];
    profile.insert_group(GROUP, &members).unwrap();
    let chosen: Vec<u32> = (0..6).map(|hash| profile.select(GROUP, hash).unwrap().0).collect();
    assert_eq!(chosen, [2, 5, 7, 2, 5, 7]);
}

#[test]
fn actions_resolve() {
    let mut profile = profile();
    profile.insert_group(GROUP, &[(MemberId(4), 3)]).unwrap();
    profile.insert_group(GroupId(2), &[]).unwrap();
    let direct = call(40);
    let resolve = |action| profile.resolve(action, 12345);
    assert_eq!(resolve(ActionRef::Call(&direct)), Some(&direct));
    assert_eq!(resolve(ActionRef::Member(MemberId(3))), Some(&call(3)));
    assert_eq!(resolve(ActionRef::Group(GROUP)), Some(&call(4)));
    assert_eq!(resolve(ActionRef::Group(GroupId(2))), None);
    assert_eq!(resolve(ActionRef::Group(GroupId(3))), None);
    assert_eq!(resolve(ActionRef::Member(MemberId(99))), None);
}

#[test]
fn what_is_named_cannot_be_deleted() {
    let mut profile = profile();
    let (in_group, in_entry) = (MemberId(1), MemberId(2));
    profile.insert_group(GROUP, &[(in_group, 1)]).unwrap();
    profile.acquire(ActionRef::Member(in_entry)).unwrap();
    profile.acquire(ActionRef::Group(GROUP)).unwrap();
    let in_use = |id| Err(ProfileError::MemberInUse(id));
    assert_eq!(profile.delete_member(in_group), in_use(in_group));
    assert_eq!(profile.delete_member(in_entry), in_use(in_entry));
    let group = profile.delete_group(GROUP);
    assert_eq!(group, Err(ProfileError::GroupInUse(GROUP)));

    profile.release(ActionRef::Member(in_entry));
    profile.delete_member(in_entry).unwrap();
    profile.modify_group(GROUP, &[(MemberId(3), 1)]).unwrap();
    profile.delete_member(in_group).unwrap();
    profile.release(ActionRef::Group(GROUP));
    profile.delete_group(GROUP).unwrap();
    profile.delete_member(MemberId(3)).unwrap();
    let gone = profile.acquire(ActionRef::Member(in_entry));
    assert_eq!(gone, Err(ProfileError::NoMember(in_entry)));
}

#[test]
fn refused_writes_change_nothing() {
    let mut profile = profile();
    profile.insert_group(GROUP, &[(MemberId(1), 1)]).unwrap();
    let full = profile.insert_member(MemberId(9), call(9));
    assert_eq!(full, Err(ProfileError::ProfileFull { size: 8 }));
    let twice = profile.insert_member(MemberId(1), call(9));
    assert_eq!(twice, Err(ProfileError::DuplicateMember(MemberId(1))));
    let twice = profile.insert_group(GROUP, &[]);
    assert_eq!(twice, Err(ProfileError::DuplicateGroup(GROUP)));
    let bad_groups: [(&[(MemberId, u32)], ProfileError); 4] = [
        (&[(MemberId(9), 1)], ProfileError::NoMember(MemberId(9))),
        (&[(MemberId(2), 0)], ProfileError::ZeroWeight(MemberId(2))),
        (
            &[(MemberId(2), 1), (MemberId(2), 1)],
            ProfileError::RepeatedMember(MemberId(2)),
        ),
        (
            &[(MemberId(2), 60), (MemberId(3), 41)],
            ProfileError::GroupTooLarge {
                weight: 101,
                limit: 100,
            },
        ),
    ];
    for (members, error) in bad_groups {
        assert_eq!(profile.modify_group(GROUP, members), Err(error.clone()));
        let inserted = profile.insert_group(GroupId(2), members);
        assert_eq!(inserted, Err(error));
    }
    assert_eq!(profile.group(GROUP), Some(vec![(MemberId(1), 1)]));
    assert!(profile.delete_member(MemberId(2)).is_ok());
}

#[test]
fn members_of_a_group_are_exchanged_where_there_is_no_room_for_both() {
    let mut profile = profile();
    let former: Vec<MemberId> = (0..8).map(MemberId).collect();
    let former_weights: Vec<(MemberId, u32)> = former.iter().map(|member| (*member, 1)).collect();
    profile.insert_group(GROUP, &former_weights).unwrap();
    let new = |count: u32| (11..11 + count).map(|id| (MemberId(id), call(id))).collect::<Vec<_>>();
    let weights = |count: u32| (11..11 + count).map(|id| (MemberId(id), 2)).collect::<Vec<_>>();
    let too_many = profile.exchange_members(GROUP, &former, new(9), &weights(9));
    assert_eq!(too_many, Err(ProfileError::ProfileFull { size: 8 }));
    let too_heavy = profile.exchange_members(GROUP, &former, new(2), &[(MemberId(12), 101)]);
    let limit = 100;
    assert_eq!(too_heavy, Err(ProfileError::GroupTooLarge { weight: 101, limit }));
    assert_eq!(profile.group(GROUP), Some(former_weights), "errors change nothing");
    profile.exchange_members(GROUP, &former, new(8), &weights(7)).unwrap();
    assert_eq!(profile.group(GROUP), Some(weights(7)));
    assert!(profile.members().map(|(member, _)| member).eq((11..19).map(MemberId)));
    profile.delete_member(MemberId(18)).unwrap();
}

proptest! {
    #[test]
    fn a_round_of_hashes_chooses_each_member_by_its_weight(
        weights in prop::collection::btree_map(0u32..8, 1u32..12, 1..8),
        start in 0..u64::MAX / 2,
    ) {
        let members: Vec<(MemberId, u32)> =
            weights.iter().map(|(&id, &weight)| (MemberId(id), weight)).collect();
        let mut profile = profile();
        profile.insert_group(GROUP, &members).unwrap();
        prop_assert_eq!(profile.group(GROUP), Some(members.clone()));
        let total: u64 = weights.values().map(|&weight| u64::from(weight)).sum();
        for (id, weight) in members {
            let chosen = (start..start + total)
                .filter(|&hash| profile.select(GROUP, hash) == Some(id))
                .count();
            prop_assert_eq!(chosen, weight as usize);
        }
    }
}
